package db

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

// tmpSuffix marks a store that is being made; one that a crash left is replaced.
const tmpSuffix = ".tmp"

// pageSize is that of new files, in bytes; an older file keeps its own.
const pageSize = 8 << 10

// Create makes a store with an empty run and opens it. The file appears under
// its name only when it is whole and durable. ErrExists is returned, and
// nothing touched, if the name is taken.
func Create(path string, run Run, opts Options) (*Store, error) {
	opts = opts.filled()
	if run.ID == "" {
		run.ID = newUUID()
	}
	if run.Created.IsZero() {
		run.Created = opts.Now()
	}
	run.Created = run.Created.UTC()
	if err := create(path, run, opts); err != nil {
		return nil, err
	}
	opts.ReadOnly = false
	return Open(path, opts)
}

func create(path string, run Run, opts Options) error {
	folder, err := lockFolder(filepath.Dir(path), opts.LockTimeout)
	if err != nil {
		return err
	}
	defer folder.Close()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = ErrExists
		}
		return fmt.Errorf("create %s: %w", path, err)
	}
	tmp := path + tmpSuffix
	if err := build(tmp, run); err != nil {
		_ = os.Remove(tmp)
		return fmt.Errorf("create %s: %w", path, err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return folder.Sync()
}

// MakeFolder makes a folder for a store, and those above it that are missing.
// It syncs the folders that got an entry, and the one that holds the folder if
// that was there: what is durable in a folder is lost in a power cut all the
// same if the folder is not.
func MakeFolder(path string) error {
	parent := filepath.Dir(path)
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		if err := MakeFolder(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		if info, failed := os.Stat(path); failed != nil || !info.IsDir() {
			return err
		}
	}
	f, err := os.Open(parent)
	if errors.Is(err, fs.ErrPermission) { // one may write to it and not read it, which a sync takes
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// build writes a whole store to tmp and syncs it.
func build(tmp string, run Run) error {
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	db, err := bolt.Open(tmp, 0o644, &bolt.Options{PageSize: pageSize, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error { return initialise(tx, run) })
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	f, err := os.OpenFile(tmp, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// newUUID returns a random UUID (version 4).
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
