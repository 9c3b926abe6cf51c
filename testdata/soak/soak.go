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
		l := life{time: left, by: syscall.SIGTERM, flags: []string{"--retry_failed=none"}}
		if k := s.size.kill; k > 0 && k < left {
			l.time, l.by = k, syscall.SIGKILL
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
