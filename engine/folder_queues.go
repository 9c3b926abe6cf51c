package engine

import (
	"path/filepath"
	"sync"

	"hermes-batch/db"
)

// folderQueues let one session at a time into a folder that rows share, and
// keep the others without a worker. The zero value is ready for use. Safe for
// concurrent use.
type folderQueues struct {
	mu    sync.Mutex
	taken map[string][]db.Ordinal // by folder: who waits for it
}

// enter takes the folder of a row's cwd, or queues the session behind the one
// that has it. Rows without an absolute cwd have folders of their own.
func (q *folderQueues) enter(cwd string, ord db.Ordinal) (folder string, entered bool) {
	if !filepath.IsAbs(cwd) {
		return "", true
	}
	folder = filepath.Clean(cwd)
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		folder = real
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting, taken := q.taken[folder]
	if taken {
		q.taken[folder] = append(waiting, ord)
		return folder, false
	}
	if q.taken == nil {
		q.taken = map[string][]db.Ordinal{}
	}
	q.taken[folder] = nil
	return folder, true
}

// leave hands the folder over to the session that waited longest, which its
// caller has to work on next, or gives it back if none waits.
func (q *folderQueues) leave(folder string) (next db.Ordinal, waited bool) {
	if folder == "" {
		return 0, false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.taken[folder]
	if len(waiting) == 0 {
		delete(q.taken, folder)
		return 0, false
	}
	q.taken[folder] = waiting[1:]
	return waiting[0], true
}
