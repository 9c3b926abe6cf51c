package sandbox

import (
	"context"
	"errors"
	"fmt"
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
		if err != nil {
			return Result{}, CallNever, err
		}
		r, begun, err := c.read()
		switch {
		case err != nil:
			return Result{}, CallNever, err
		case r.Job != nil && (held || r.Result != nil):
			return Result{Job: r.Job, Recovered: true}, CallDone, nil
		case r.Result != nil:
			r.Result.Recovered = true
			return *r.Result, CallDone, nil
		case held:
			r.wake()
		case !begun:
			return Result{}, CallNever, nil
		case r.Program, r.Ended:
			return Result{}, CallLost, nil
		default:
			return Result{}, CallLost, l.killCall(c, l.mark(key))
		}
		select {
		case <-ctx.Done():
			return Result{}, CallNever, ctx.Err()
		case <-l.stopping:
			return Result{}, CallNever, ErrClosed
		case <-time.After(recallPoll):
		}
	}
}

// killCall kills what a supervisor that was killed has left.
func (l *Local) killCall(c call, mark string) error {
	r, begun, err := c.read()
	if err != nil || !begun || !r.meaningful() {
		return err
	}
	if r.Group > 1 {
		err = killMatching(func(list []process) []process { return members(list, r) })
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
	f, err := c.open()
	if err != nil {
		return fmt.Errorf("begin call %s: %w", key, err)
	}
	// Closing gives up the lock: nobody waits for a call of the program's own.
	err = record{Program: true, Pid: os.Getpid(), Boot: bootID(), Space: pidSpace()}.note(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("begin call %s: %w", key, err)
	}
	return nil
}
