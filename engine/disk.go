package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
)

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
