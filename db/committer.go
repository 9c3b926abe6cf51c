package db

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	bolt "go.etcd.io/bbolt"
)

const (
	// maxQueued bounds the bytes that wait for a commit; beyond it, writers wait.
	maxQueued = 64 << 20

	// maxGroupBytes and maxGroupPuts bound one transaction, so that the
	// first in the queue does not wait for all the others to be written.
	maxGroupBytes = 8 << 20
	maxGroupPuts  = 2048

	// requestCost is what a put costs beside its bytes.
	requestCost = 256
)

// Commit is a write on its way to the disk.
type Commit struct {
	done chan struct{}
	err  error
}

// Wait returns when the write is durable (nil) or cannot become so. It returns
// the context's error as soon as that ends; the write then goes on.
func (c *Commit) Wait(ctx context.Context) error {
	select {
	case <-c.done:
		return c.err
	default:
	}
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Commit) finish(err error) {
	c.err = err
	close(c.done)
}

func newCommit() *Commit { return &Commit{done: make(chan struct{})} }

func failedCommit(err error) *Commit {
	c := newCommit()
	c.finish(err)
	return c
}

// committer owns all writes of a store: one goroutine takes what waits, writes
// it in one transaction and answers; while that syncs, the next group gathers.
type committer struct {
	db    *bolt.DB
	here  func() error // whether the file that is written is still the store
	limit int          // of bytes; maxQueued

	mu      sync.Mutex
	changed sync.Cond // the queue has got longer or shorter, or closing
	queue   []*request
	bytes   int
	closing bool
	err     error // of the commit that failed

	failed  chan struct{}
	stopped chan struct{}
	stuck   bool // a transaction could not be ended: bbolt's Close would wait for it; read after stopped
}

func newCommitter(db *bolt.DB, here func() error) *committer {
	c := &committer{db: db, here: here, limit: maxQueued, failed: make(chan struct{}), stopped: make(chan struct{})}
	c.changed.L = &c.mu
	go c.run()
	return c
}

// submit queues a request, waiting while too many bytes wait already.
func (c *committer) submit(r *request) *Commit {
	r.commit = newCommit()
	r.bytes = requestCost
	for _, p := range r.puts {
		r.bytes += len(p.key) + len(p.value) + requestCost
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.err == nil && !c.closing && c.bytes > 0 && c.bytes+r.bytes > c.limit {
		c.changed.Wait()
	}
	switch {
	case c.err != nil:
		r.commit.finish(c.err)
	case c.closing:
		r.commit.finish(ErrClosed)
	default:
		c.queue = append(c.queue, r)
		c.bytes += r.bytes
		c.changed.Broadcast()
	}
	return r.commit
}

// close lets the queue run empty and ends the goroutine.
func (c *committer) close() {
	c.mu.Lock()
	c.closing = true
	c.changed.Broadcast()
	c.mu.Unlock()
	<-c.stopped
}

func (c *committer) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *committer) run() {
	defer close(c.stopped)
	debug.SetPanicOnFault(true)
	for {
		group := c.take()
		if group == nil {
			return
		}
		c.commit(group)
	}
}

// take returns the next group, nil when the committer is to end. A request
// with a function is a group of its own.
func (c *committer) take() []*request {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) == 0 {
		if c.closing {
			return nil
		}
		c.changed.Wait()
	}
	n, size, puts := 0, 0, 0
	for n < len(c.queue) {
		r := c.queue[n]
		if n > 0 && (r.fn != nil || size+r.bytes > maxGroupBytes || puts+len(r.puts) > maxGroupPuts) {
			break
		}
		n++
		size += r.bytes
		puts += len(r.puts)
		if r.fn != nil {
			break
		}
	}
	group := slices.Clone(c.queue[:n])
	c.queue = slices.Delete(c.queue, 0, n)
	return group
}

// commit writes a group and answers its callers.
func (c *committer) commit(group []*request) {
	refused, err := c.write(group)
	if err == nil {
		err = c.here()
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrFailed, err)
	}
	c.release(group, err)
	for i, r := range group {
		switch {
		case err != nil:
			r.commit.finish(err)
		case refused[i] != nil:
			r.commit.finish(refused[i])
		default:
			if r.done != nil {
				r.done()
			}
			r.commit.finish(nil)
		}
	}
}

// release gives the group's room in the queue back. With an error the store
// has failed for good, and whatever waits fails with it.
func (c *committer) release(group []*request, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range group {
		c.bytes -= r.bytes
	}
	if err != nil {
		c.err = err
		close(c.failed)
		for _, r := range c.queue {
			r.commit.finish(err)
		}
		c.queue, c.bytes, c.closing = nil, 0, true
	}
	c.changed.Broadcast()
}

// write commits a group in one transaction. Requests that contradict committed
// steps, or whose function gives an error, are refused alone.
func (c *committer) write(group []*request) (refused []error, err error) {
	refused = make([]error, len(group))
	err = c.transact(func(tx reader) (bool, error) {
		if fn := group[0].fn; fn != nil {
			refused[0] = fn(tx)
			return refused[0] == nil, nil
		}
		puts := gather(tx, group, refused)
		return len(puts) > 0, apply(tx, puts)
	})
	return refused, err
}

// transact runs fn in a transaction and commits it if fn says so. Whatever
// panics in it or in the commit is damage.
func (c *committer) transact(fn func(tx reader) (commit bool, err error)) (err error) {
	var tx *bolt.Tx
	defer func() {
		if p := recover(); p != nil {
			c.abandon(tx)
			err = damaged("%v", p)
		}
	}()
	if tx, err = c.db.Begin(true); err != nil {
		return err
	}
	commit, err := fn(reader{tx})
	if err != nil || !commit {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// abandon ends a transaction that panicked, without the scan of the whole file
// that bbolt's own way out of a failed commit may need.
func (c *committer) abandon(tx *bolt.Tx) {
	defer func() {
		if recover() != nil {
			c.stuck = true
		}
	}()
	c.stuck = tx == nil
	if tx != nil {
		_ = tx.Rollback()
	}
}

// syncFreelist writes the list of free pages, which running commits leave out:
// without it the next Open must read the whole file to find them. It may be
// called once the goroutine has ended.
func (c *committer) syncFreelist() error {
	if c.err != nil {
		return nil
	}
	c.db.NoFreelistSync = false
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	return c.transact(func(reader) (bool, error) { return true, nil })
}
