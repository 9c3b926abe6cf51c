package db

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
)

// mapSize is the address space reserved for the mapped file. As long as the
// file fits, growing it needs no new mapping, for which a writer would have to
// wait for all readers, and new readers for that writer.
const mapSize = 64 << 30

// growth is how much longer the file gets, at least, when it is full.
const growth = 4 << 20

// Open opens a store. It never creates one (ErrNotFound), and refuses without
// changing a byte what is no store (ErrNotStore), one of a later format
// (ErrNewer), one that contradicts itself (ErrDamaged) and one that another
// process holds (*LockedError, within LockTimeout).
func Open(path string, opts Options) (*Store, error) {
	opts = opts.filled()
	f, err := openFile(path, opts)
	if err != nil {
		return nil, err
	}
	if name := networkFS(f); name != "" {
		opts.Log.Warn("the store lies on a network file system, whose locks and syncs may not hold", "path", path, "type", name)
	}
	s := &Store{path: path, opts: opts, file: f}
	if err := s.open(); err != nil {
		_ = f.Close() // closed already unless bbolt never got it
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return s, nil
}

// openFile opens the file and takes its lock.
func openFile(path string, opts Options) (*os.File, error) {
	flag := os.O_RDWR
	if opts.ReadOnly {
		flag = os.O_RDONLY
	}
	f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, 0) // or a named pipe would keep it waiting
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("store %s: %w", path, ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	if err := lockFile(f, !opts.ReadOnly, opts.LockTimeout); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func (s *Store) open() error {
	if err := inspect(s.file, s.opts.ReadOnly, s.opts.Log); err != nil {
		return err
	}
	var err error
	if s.db, err = openBolt(s.file, s.opts.ReadOnly); err != nil {
		return err
	}
	if err := s.load(); err != nil {
		_ = s.db.Close()
		return err
	}
	if s.opts.ReadOnly {
		return nil
	}
	if err := s.announce(); err != nil {
		_ = s.db.Close()
		return err
	}
	here, err := stillHere(s.file, s.path)
	if err != nil {
		_ = s.db.Close()
		return err
	}
	s.writes = newCommitter(s.db, here)
	return nil
}

// stillHere returns a check that path names the open file: what is committed to
// a file that was removed or replaced is lost when the program ends.
func stillHere(f *os.File, path string) (func() error, error) {
	ours, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return func() error {
		if now, err := os.Stat(path); err != nil || !os.SameFile(ours, now) {
			return fmt.Errorf("%s: %w", path, ErrGone)
		}
		return nil
	}, nil
}

// openBolt hands a file that is open and locked to bbolt, which panics at some
// kinds of damage.
func openBolt(f *os.File, readOnly bool) (db *bolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer recovered(&err)
	db, err = bolt.Open(f.Name(), 0o600, &bolt.Options{
		Timeout:         time.Millisecond, // the lock is ours already
		ReadOnly:        readOnly,
		FreelistType:    bolt.FreelistMapType,
		NoFreelistSync:  true,
		InitialMmapSize: reservedSpace(),
		NoStatistics:    true,
		OpenFile:        func(string, int, os.FileMode) (*os.File, error) { return f, nil },
	})
	if err != nil {
		return nil, err
	}
	db.AllocSize = growth
	return db, nil
}

// reservedSpace is mapSize, or what a limit on address space leaves room for.
func reservedSpace() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit); err == nil && limit.Cur < 4*mapSize {
		return int(limit.Cur / 4)
	}
	return mapSize
}

// load checks what the store says it is, and reads what is kept in memory.
func (s *Store) load() error {
	return s.view(func(tx reader) error {
		if err := checkFormat(tx); err != nil {
			return err
		}
		if err := getJSON(tx, bucketMeta, keyRun, &s.run); err != nil {
			return fmt.Errorf("run: %w", mustExist(err))
		}
		return s.loadRegistrations(tx)
	})
}

func checkFormat(tx reader) error {
	meta := tx.Bucket(bucketNames[bucketMeta])
	if meta == nil || !bytes.Equal(meta.Get(keyFormat), []byte(formatName)) {
		return ErrNotStore
	}
	version, err := strconv.Atoi(string(meta.Get(keyVersion)))
	if err != nil || version < 1 {
		return damaged("format version %.20q", meta.Get(keyVersion))
	}
	if version > formatVersion {
		return fmt.Errorf("%w: version %d, this program knows version %d", ErrNewer, version, formatVersion)
	}
	for _, name := range bucketNames {
		if tx.Bucket(name) == nil {
			return damaged("bucket %s is missing", name)
		}
	}
	return nil
}
