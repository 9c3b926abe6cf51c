package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// recallPoll is how often a command of another session of the program is
// looked at. It cannot report to this one.
const recallPoll = 20 * time.Millisecond

// Recall implements Sandbox.
func (l *Local) Recall(ctx context.Context, key string) (Result, CallState, error) {
	if err := l.enter(); err != nil {
		return Result{}, CallNever, err
	}
	defer l.leave()
	c, err := l.call(key)
	if err != nil {
		return Result{}, CallNever, err
	}
	r, state, err := l.recall(ctx, c, key)
	if err != nil {
		return Result{}, CallNever, fmt.Errorf("recall call %s: %w", key, err)
	}
	return r, state, nil
}

func (l *Local) recall(ctx context.Context, c call, key string) (Result, CallState, error) {
	for {
		// In this order: a supervisor writes the result before it lets go.
		held, err := c.held()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Result{}, CallNever, err
		}
		if r, ok, err := c.result(); err != nil || ok {
			r.Recovered = true
			return r, CallDone, err
		}
		if !held {
			break
		}
		select {
		case <-ctx.Done():
			return Result{}, CallNever, ctx.Err()
		case <-l.stopping:
			return Result{}, CallNever, ErrClosed
		case <-time.After(recallPoll):
		}
	}
	m, begun, err := c.mark()
	if err != nil {
		return Result{}, CallNever, err
	}
	if !begun && l.boot == bootID() {
		return Result{}, CallNever, nil
	}
	// Without a start file after a restart of the machine: what was written
	// shortly before may be gone, and the start file with it.
	if begun && !m.Program {
		err = l.killCall(c, l.mark(key))
	}
	return Result{}, CallLost, err
}

// killCall kills what a supervisor that was killed has left.
func (l *Local) killCall(c call, mark string) error {
	m, begun, err := c.mark()
	if err != nil || !begun || !m.meaningful() {
		return err
	}
	if m.Group > 1 {
		err = killMatching(func(list []process) []process { return members(list, m) })
	}
	return errors.Join(err, killMarked(mark))
}

// Begin implements Sandbox.
func (l *Local) Begin(key string) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	c, err := l.call(key)
	if err != nil {
		return err
	}
	f, err := c.create()
	if err != nil {
		return fmt.Errorf("begin call %s: %w", key, err)
	}
	// Closing gives up the lock: nobody waits for a call of the program's own.
	err = appendMark(f, mark{Program: true, Pid: os.Getpid(), Boot: bootID(), Space: pidSpace()})
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("begin call %s: %w", key, err)
	}
	return nil
}
