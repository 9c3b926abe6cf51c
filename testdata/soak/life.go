package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"hermes-batch/testdata/shipped"
)

// Exit codes of the program.
const (
	exitFailed     = 1
	exitTerminated = 128 + int(syscall.SIGTERM)
)

// life is that of one process which works on the run.
type life struct {
	time  time.Duration  // after which it is ended
	by    syscall.Signal // 0: it ends by itself
	flags []string
}

// live lets a process work on the run, with readers beside it.
func (s *soak) live(ctx context.Context, l life) error {
	c, err := s.start(l)
	if err != nil {
		return err
	}
	leave, left := s.accompany(ctx, c)
	early := l.wait(ctx, c)
	leave()
	switch {
	case ctx.Err() != nil:
		c.Signal(syscall.SIGKILL)
	case !early && l.by != 0:
		c.Signal(l.by)
	}
	e := c.Wait()
	left()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := s.judge(l, e, early); err != nil {
		return err
	}
	return s.check()
}

// start starts the program and waits for its first reply: before that, refused
// connections mean to it that nobody is there.
func (s *soak) start(l life) (*shipped.Call, error) {
	s.end.peace.Lock()
	defer s.end.peace.Unlock()
	first := s.end.nextReply()
	c, err := s.program().Start(append([]string{"--dataset_file=prompts.jsonl", fmt.Sprintf("--batch_size=%d", batchSize), "--run_name=" + runName, "--resume",
		"--model=simulated", "--base_url=" + s.end.url, "--distribution=local", "--work_dir=state", fmt.Sprintf("--max_turns=%d", maxTurns),
		fmt.Sprintf("--num_workers=%d", s.size.workers), "--request_timeout=" + s.size.chaos.limit.String(),
		"--prompt_timeout=" + s.size.promptTimeout.String()}, l.flags...)...)
	if err != nil {
		return nil, err
	}
	select {
	case <-first:
	case <-c.Ended():
	}
	return c, nil
}

// accompany watches a process and asks it how far it is, until leave is called:
// what is asked from then on does not count. Left waits for the end of that.
func (s *soak) accompany(ctx context.Context, c *shipped.Call) (leave, left func()) {
	s.done.Store(0)
	ctx, leave = context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { s.watch(ctx, c.PID()) })
	all.Go(func() { s.read(ctx, s.status) })
	all.Go(func() { s.read(ctx, s.export) })
	return leave, all.Wait
}

// wait waits until the time of a life is over, and tells whether it ended before.
func (l life) wait(ctx context.Context, c *shipped.Call) (early bool) {
	var over <-chan time.Time
	if l.by != 0 {
		timer := time.NewTimer(l.time)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-c.Ended():
		return l.by != 0
	case <-over:
	case <-ctx.Done():
	}
	return false
}

// judge says what is wrong with how a process ended.
func (s *soak) judge(l life, e shipped.Ending, early bool) error {
	s.lives++
	where := fmt.Sprintf("process %d", s.lives)
	fmt.Fprintf(s.log, "%4.0f s: %s ended; %d requests so far\n", time.Since(s.began).Seconds(), where, s.end.total())
	if err := os.WriteFile(filepath.Join(s.dir, fmt.Sprintf("said-%d.txt", s.lives)), []byte(e.Text), 0o644); err != nil {
		return err
	}
	switch {
	case early:
		return fmt.Errorf("%s ended before its time: %v", where, e)
	case l.by == syscall.SIGKILL:
		if line := e.Alarm(); line != "" || e.By != l.by {
			s.say(where, fmt.Sprintf("was killed and said %q: %v", line, e))
		}
	case l.by != 0:
		s.say(where, e.Wrong(exitTerminated)...)
	default:
		s.say(where, e.Wrong(0, exitFailed)...)
	}
	return nil
}
