package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"

	"hermes-batch/db"
)

// planPage is how many rows of the plan are looked at in one read.
const planPage = 1024

// feed hands out the prompts that are due, in the order of the dataset.
func (r *Run) feed(ctx context.Context, due chan<- db.Ordinal) error {
	page := make([]uint32, planPage)
	for from := 0; ; {
		n, err := r.store.PlanRows(from, page)
		if err != nil || n == 0 {
			return err
		}
		for _, index := range page[:n] {
			ord := db.MakeOrdinal(int(index), 0)
			if !r.progress.pending(ord) {
				continue
			}
			if err := checkDisk(r.folder.Dir); err != nil {
				r.stop.begin(err)
				return nil
			}
			select {
			case due <- ord:
			case <-r.stop.soft:
				return nil
			case <-ctx.Done():
				return nil
			}
		}
		from += n
	}
}

// The free space below which no prompt is admitted: a share of the disk, and
// never more than what a run may leave behind in flight.
const (
	reserveShare = 50        // a fiftieth
	reserveMost  = 512 << 20 // bytes
)

// checkDisk refuses to go on when the disk is nearly full.
func checkDisk(dir string) error {
	var fs syscall.Statfs_t
	err := syscall.Statfs(dir, &fs)
	for errors.Is(err, syscall.ENOENT) && dir != filepath.Dir(dir) { // not made yet
		dir = filepath.Dir(dir)
		err = syscall.Statfs(dir, &fs)
	}
	if err != nil {
		return nil // not to be known here
	}
	free := fs.Bavail * uint64(fs.Bsize)
	reserve := min(fs.Blocks*uint64(fs.Bsize)/reserveShare, reserveMost)
	if free >= reserve {
		return nil
	}
	return &stopError{stopDisk, fmt.Errorf("the disk of %s is nearly full: %d MiB free, %d MiB are kept in reserve; free some space and resume", dir, free>>20, reserve>>20)}
}

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
