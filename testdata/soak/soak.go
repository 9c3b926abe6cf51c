package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"hermes-batch/testdata/shipped"
)

const (
	runName   = "soak"
	batchSize = 50
	maxTurns  = 6

	exitFailed     = 1
	exitTerminated = 128 + int(syscall.SIGTERM)

	// lastPrompts is how many prompts the last resume may begin, at most.
	lastPrompts = 2 * batchSize
	// patience is how long anything may take beside the time of the soak.
	patience = 15 * time.Minute
)

// size says how long and how hard.
type size struct {
	time          time.Duration
	kill          time.Duration // from one SIGKILL to the next, 0 for none
	workers       int
	prompts       int           // more than can be done
	promptTimeout time.Duration // beyond what any but those out of time take
	chaos         chaos
}

// soak is one run under chaos.
type soak struct {
	binary string
	dir    string
	size   size
	log    io.Writer
	deal   *dealer
	end    *endpoint

	began    time.Time
	samples  []sample
	done     atomic.Int64 // prompts with an outcome, as status says
	reads    atomic.Int64
	exported int  // rows of the last export
	ending   bool // failed prompts are tried again
	planned  int  // prompts that the run comes to: all that were begun, and a few
	lives    int  // processes that have worked on the run
	deaths   int  // of them, by SIGKILL

	mu    sync.Mutex
	wrong []string
	found findings
}

func newSoak(dir, binary string, z size, kinds []kind, log io.Writer) (*soak, error) {
	s := &soak{binary: binary, dir: dir, size: z, log: log, deal: newDealer(z.chaos.seed, kinds)}
	if err := os.Mkdir(s.temporary(), 0o700); err != nil {
		return nil, err
	}
	if err := s.writeDataset(); err != nil {
		return nil, err
	}
	m, err := newModel(s.deal)
	if err != nil {
		return nil, err
	}
	s.end, err = startEndpoint(z.chaos, m)
	return s, err
}

// say notes what is wrong.
func (s *soak) say(where string, wrong ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range wrong {
		fmt.Fprintf(s.log, "VIOLATION %s: %s\n", where, w)
		s.wrong = append(s.wrong, where+": "+w)
	}
}

// folder is the path of a file in the run's folder.
func (s *soak) folder(name ...string) string {
	return filepath.Join(append([]string{s.dir, "data", runName}, name...)...)
}

// temporary is the folder in which the program keeps what is to be gone when it
// ends: its sockets.
func (s *soak) temporary() string { return filepath.Join(s.dir, "tmp") }

func (s *soak) program() shipped.Binary {
	return shipped.Binary{Path: s.binary, Dir: s.dir, Env: []string{"TMPDIR=" + s.temporary(), "XDG_RUNTIME_DIR="}, Patience: s.size.time + patience}
}

func (s *soak) writeDataset() error {
	f, err := os.Create(filepath.Join(s.dir, "prompts.jsonl"))
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriter(f)
	for n := range s.size.prompts {
		fmt.Fprintf(out, "%s\n", encode(map[string]any{"prompt": s.deal.prompt(n), "n": n}))
	}
	return out.Flush()
}

// run lets the run go on for its time, and then come to its end.
func (s *soak) run(ctx context.Context) error {
	defer shipped.KillAll(s.dir)
	defer s.end.close()
	s.began = time.Now()
	for left := s.size.time; left > 0 && ctx.Err() == nil; left = s.size.time - time.Since(s.began) {
		l := life{d: left, by: syscall.SIGTERM, flags: []string{"--retry_failed=none"}}
		if k := s.size.kill; k > 0 && k < left {
			l.d, l.by = k, syscall.SIGKILL
			s.deaths++
		}
		if err := s.live(ctx, l); err != nil {
			return err
		}
	}
	s.ending, s.planned = true, min(s.end.highest()+1+lastPrompts, s.size.prompts)
	last := life{flags: []string{"--retry_failed=all", fmt.Sprintf("--max_samples=%d", s.planned)}}
	if err := s.live(ctx, last); err != nil {
		return err
	}
	s.end.close()
	return s.examine()
}

// life is that of one process which works on the run.
type life struct {
	d     time.Duration  // after which it is ended
	by    syscall.Signal // 0: it ends by itself
	flags []string
}

// live lets a process work on the run, with readers beside it.
func (s *soak) live(ctx context.Context, l life) error {
	s.end.peace.Lock() // until it knows that somebody is there
	first := s.end.nextReply()
	c, err := s.program().Start(append([]string{"--dataset_file=prompts.jsonl", fmt.Sprintf("--batch_size=%d", batchSize), "--run_name=" + runName, "--resume",
		"--model=simulated", "--base_url=" + s.end.url, "--distribution=local", "--work_dir=state", fmt.Sprintf("--max_turns=%d", maxTurns),
		fmt.Sprintf("--num_workers=%d", s.size.workers), "--request_timeout=" + s.size.chaos.limit.String(),
		"--prompt_timeout=" + s.size.promptTimeout.String()}, l.flags...)...)
	if err != nil {
		s.end.peace.Unlock()
		return err
	}
	select {
	case <-first:
	case <-c.Ended():
	}
	s.end.peace.Unlock()
	s.done.Store(0)
	beside, leave := context.WithCancel(ctx)
	var others sync.WaitGroup
	others.Go(func() { s.watch(beside, c.PID()) })
	others.Go(func() { s.read(beside, s.status) })
	others.Go(func() { s.read(beside, s.export) })
	early := s.wait(ctx, c, l)
	leave()
	if ctx.Err() != nil {
		c.Signal(syscall.SIGKILL)
	} else if !early && l.by != 0 {
		c.Signal(l.by)
	}
	e := c.Wait()
	others.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := s.judge(l, e, early); err != nil {
		return err
	}
	return s.check()
}

// wait waits until the time of a life is over, and tells whether it ended before.
func (s *soak) wait(ctx context.Context, c *shipped.Call, l life) (early bool) {
	var over <-chan time.Time
	if l.by != 0 {
		timer := time.NewTimer(l.d)
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
