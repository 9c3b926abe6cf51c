package db

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// lockPoll is how often a lock that is held is tried again.
const lockPoll = 20 * time.Millisecond

// lockPath is the file beside the store that says who holds it: run.lock for
// run.db.
func lockPath(store string) string { return strings.TrimSuffix(store, ".db") + ".lock" }

// ReadLock returns what the holder of a store said about itself when it took
// it. That may be out of date after a crash; only opening the store tells
// whether it is held. ErrNotFound is returned if nobody said anything.
func ReadLock(storePath string) (LockedError, error) {
	e := LockedError{}
	data, err := readLockFile(lockPath(storePath))
	if errors.Is(err, fs.ErrNotExist) {
		return e, fmt.Errorf("holder of %s: %w", storePath, ErrNotFound)
	}
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return LockedError{}, fmt.Errorf("read %s: %w", lockPath(storePath), err)
	}
	e.Path = storePath
	return e, nil
}

// maxLock bounds a lock file in bytes.
const maxLock = 64 << 10

// readLockFile reads a lock file, which anybody who may write to the folder can
// replace by something that has no end or never begins.
func readLockFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	return io.ReadAll(io.LimitReader(f, maxLock))
}

// AnnounceSocket lets others know where the holder of the store answers.
func (s *Store) AnnounceSocket(path string) error {
	if s.writes == nil {
		return ErrReadOnly
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holder.Socket = path
	return writeLock(s.path, s.holder)
}

// announce says who holds the store.
func (s *Store) announce() error {
	host, _ := os.Hostname() // an unknown host is an empty one
	s.holder = LockedError{PID: os.Getpid(), Host: host, Since: s.opts.Now().UTC()}
	return writeLock(s.path, s.holder)
}

// writeLock replaces the file as a whole, so that nobody reads half of it.
func writeLock(path string, e LockedError) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	tmp := lockPath(path) + ".tmp"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) // follows no link
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(tmp, lockPath(path))
}

func removeLock(path string) error {
	if err := os.Remove(lockPath(path)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// lockFile takes the lock that bbolt takes, waiting at most that long.
func lockFile(f *os.File, exclusive bool, wait time.Duration) error {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	deadline := time.Now().Add(wait)
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EINTR):
			continue
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		case time.Until(deadline) <= 0:
			return heldBy(f.Name())
		}
		time.Sleep(min(lockPoll, max(time.Until(deadline), time.Millisecond)))
	}
}

// heldBy names the holder, as far as what stands in the lock file can be true.
func heldBy(path string) *LockedError {
	e, err := ReadLock(path)
	host, _ := os.Hostname()
	if err != nil || e.Host == host && errors.Is(syscall.Kill(e.PID, 0), syscall.ESRCH) {
		return &LockedError{Path: path}
	}
	return &e
}

// lockFolder keeps two programs from creating stores in one folder at once.
func lockFolder(dir string, wait time.Duration) (*os.File, error) {
	f, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return nil, err
	}
	if err := lockFile(f, true, wait); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
