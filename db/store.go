package db

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// DefaultLockTimeout is how long Open waits for another process to let go.
const DefaultLockTimeout = time.Second

// Options are how a store is opened. The zero value opens it to write.
type Options struct {
	Now         func() time.Time // time.Now if nil
	LockTimeout time.Duration    // DefaultLockTimeout if 0
	ReadOnly    bool             // several may read, while nobody writes
	Log         *slog.Logger     // nothing is logged if nil
}

func (o Options) filled() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.LockTimeout == 0 {
		o.LockTimeout = DefaultLockTimeout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Store is an open store. All its methods may be called by several goroutines
// at once.
type Store struct {
	path   string
	opts   Options
	file   *os.File // the one that db has open
	db     *bolt.DB
	writes *committer // nil if read only

	mu            sync.RWMutex
	holder        LockedError // this process, as the lock file says
	run           Run
	registrations []Registration
	sealed        int // prompts below it have a batch

	closing sync.Once
	closed  error
}

// Path is the path that the store was opened with.
func (s *Store) Path() string { return s.path }

// Err returns the error of the commit that stopped the store, nil while it is
// healthy.
func (s *Store) Err() error {
	if s.writes == nil {
		return nil
	}
	return s.writes.failure()
}

// Failed returns a channel that is closed at the first failed commit.
func (s *Store) Failed() <-chan struct{} {
	if s.writes == nil {
		return nil
	}
	return s.writes.failed
}

// Close waits for what is queued, leaves the file so that it opens fast again,
// and gives the lock up. Calling it again does nothing and returns the same.
// It waits for readers in other goroutines.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closed = s.close() })
	return s.closed
}

func (s *Store) close() error {
	if s.writes == nil {
		return s.db.Close()
	}
	s.writes.close()
	err := s.writes.syncFreelist()
	err = errors.Join(err, removeLock(s.path))
	if s.writes.stuck {
		return errors.Join(err, s.file.Close())
	}
	return errors.Join(err, s.db.Close())
}

// view runs fn in a read transaction. fn must be short: pages that commits free
// meanwhile cannot be used again. Damage that shows as a panic or as a fault of
// the mapped file becomes ErrDamaged.
func (s *Store) view(fn func(tx reader) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer recovered(&err)
	err = s.db.View(func(tx *bolt.Tx) error { return fn(reader{tx}) })
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}

// recovered turns a panic of its caller into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = damaged("%v", p)
	}
}

// update runs fn in a write transaction of its own, in its turn with all other
// writes, and returns when it is durable. An error of fn undoes it and nothing
// else. done is called once it is durable, before any later write begins.
func (s *Store) update(fn func(tx reader) error, done func()) error {
	if s.writes == nil {
		return ErrReadOnly
	}
	return s.writes.submit(&request{fn: fn, done: done}).Wait(context.Background())
}

// writeAndWait puts and returns when that is durable.
func (s *Store) writeAndWait(puts []put) error {
	if s.writes == nil {
		return ErrReadOnly
	}
	return s.writes.submit(&request{puts: puts}).Wait(context.Background())
}
