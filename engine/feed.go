package engine

import (
	"context"
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
	if err := syscall.Statfs(dir, &fs); err != nil {
		return nil // not to be known here
	}
	free := fs.Bavail * uint64(fs.Bsize)
	reserve := min(fs.Blocks*uint64(fs.Bsize)/reserveShare, reserveMost)
	if free >= reserve {
		return nil
	}
	return &stopError{stopDisk, fmt.Errorf("the disk of %s is nearly full: %d MiB free, %d MiB are kept in reserve; free some space and resume", dir, free>>20, reserve>>20)}
}

// folderLocks lets one session at a time into a folder that rows share. The
// zero value is ready for use.
type folderLocks struct {
	mu   sync.Mutex
	held map[string]chan struct{}
}

// lock waits for a row's absolute cwd; other rows need no lock.
func (l *folderLocks) lock(ctx context.Context, cwd string) (unlock func(), err error) {
	if !filepath.IsAbs(cwd) {
		return func() {}, nil
	}
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real
	}
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]chan struct{}{}
	}
	turn := l.held[cwd]
	if turn == nil {
		turn = make(chan struct{}, 1)
		l.held[cwd] = turn
	}
	l.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
