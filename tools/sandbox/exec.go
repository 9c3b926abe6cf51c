package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Exec implements Sandbox.
func (l *Local) Exec(ctx context.Context, c Command) (Result, error) {
	if err := l.enter(); err != nil {
		return Result{}, err
	}
	defer l.leave()
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if strings.IndexByte(c.Script, 0) >= 0 {
		// No shell can be given one: an argument of a program ends there.
		return Result{Output: []byte("the command holds a NUL byte\n"), ExitCode: exitNoDir, Shell: c.Shell}, nil
	}
	if c.Background {
		// One at a time, so that they are counted.
		l.starting.Lock()
		defer l.starting.Unlock()
		if err := l.roomForJob(); err != nil {
			return Result{}, fmt.Errorf("run command %s: %w", c.Key, err)
		}
	}
	r, err := l.start(c)
	if err != nil {
		return Result{}, fmt.Errorf("run command %s: %w", c.Key, err)
	}
	res, err := l.await(ctx, r, c.reportWithin())
	if err != nil {
		return Result{}, fmt.Errorf("run command %s: %w", c.Key, err)
	}
	return res, nil
}

// start starts the supervisor of a command.
func (l *Local) start(c Command) (*run, error) {
	file, err := l.call(c.Key)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(l.spec(file, c))
	if err != nil {
		return nil, err
	}
	locked, err := file.open()
	if err != nil {
		return nil, err
	}
	defer locked.Close()
	r, err := l.launch(file, l.mark(c.Key), locked, text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSupervisor, err)
	}
	return r, nil
}

// mark is the value by which the processes of a call are known. It ends so that
// it begins no other call's.
func (l *Local) mark(key string) string { return l.markAll() + key + "/" }

// markAll begins the marks of all calls.
func (l *Local) markAll() string { return l.nonce + "/" }

func (l *Local) spec(file call, c Command) spec {
	if c.Grace <= 0 {
		c.Grace = DefaultGrace
	}
	if c.Head <= 0 && c.Tail <= 0 {
		c.Head, c.Tail = DefaultHead, DefaultTail
	}
	dir := c.Shell.Cwd
	if dir == "" {
		dir = l.root
	}
	switch {
	case filepath.IsAbs(c.Dir):
		dir = filepath.Clean(c.Dir)
	case c.Dir != "":
		dir = filepath.Join(dir, c.Dir)
	}
	s := spec{
		Path: file.path, Script: []byte(c.Script), Shell: c.Shell, Terminal: c.Terminal,
		Dir: dir, Chosen: c.Dir != "", Root: l.root, Owned: !l.SharedCwd(),
		Timeout: c.Timeout, Grace: c.Grace, Deadline: l.opts.Deadline,
		Head: c.Head, Tail: c.Tail, Full: l.fullName(c.Key),
	}
	if c.Background {
		s.Socket = l.socket(c.Key)
		s.Head, s.Tail = 0, JobOutput
	}
	return s
}

// startLimit is how long a command in the background may take to begin.
const startLimit = 5 * time.Second

// reportWithin is when the supervisor has reported, if nothing holds it up; 0
// if that may take any time.
func (c Command) reportWithin() time.Duration {
	switch {
	case c.Background:
		return startLimit
	case c.Timeout > 0:
		return c.Timeout + cmp.Or(c.Grace, DefaultGrace) + time.Second
	}
	return 0
}

// await waits for the report, or ends the command when ctx or the sandbox ends.
// A command may have stopped its own supervisor, which then keeps no time: when
// it is due it is woken, again and again for a while, and at last ended.
func (l *Local) await(ctx context.Context, r *run, due time.Duration) (Result, error) {
	var overdue <-chan time.Time
	var timer *time.Timer
	if due > 0 {
		timer = time.NewTimer(due)
		defer timer.Stop()
		overdue = timer.C
	}
	for limit := time.Now().Add(due + 2*killLimit); ; {
		select {
		case <-r.told:
			return l.outcome(ctx, r)
		case <-overdue:
			if time.Now().Before(limit) {
				_ = r.process.Signal(unix.SIGCONT)
				timer.Reset(time.Second)
				continue
			}
		case <-ctx.Done():
		case <-l.stopping:
		}
		l.end(r)
		return l.outcome(ctx, r)
	}
}

// outcome is what a supervisor has reported, or why it has not.
func (l *Local) outcome(ctx context.Context, r *run) (Result, error) {
	<-r.told
	switch {
	case r.report.Result != nil:
		return *r.report.Result, nil
	case ctx.Err() != nil:
		return Result{}, ctx.Err()
	case l.isClosed():
		return Result{}, ErrClosed
	}
	<-r.done
	if err := l.killCall(r.call, r.mark); err != nil {
		l.opts.Log.Warn("processes of a broken call are left", "call", r.call.path, "err", err)
	}
	return Result{}, fmt.Errorf("%w: %s", ErrSupervisor, r.failure())
}

// end ends a supervisor, and what it watches, and waits for that.
func (l *Local) end(r *run) {
	r.stop()
	select {
	case <-r.done:
	case <-time.After(stopGrace + killLimit + time.Second):
		_ = r.process.Kill()
		<-r.done
	}
}

func (l *Local) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}
