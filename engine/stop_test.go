package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hermes-batch/db"
	"hermes-batch/tools"
)

// cancelled is a context that ends when a channel is sent to.
func cancelled(t *testing.T, on <-chan bool) (context.Context, func()) {
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		select {
		case <-on:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func grace(d time.Duration) func(*Options) { return func(o *Options) { o.ShutdownGrace = d } }

// interruptedRun makes a run that is interrupted when it asks for it.
func (b *bench) interruptedRun(on <-chan bool, change ...func(*Options)) {
	b.t.Helper()
	ctx, cancel := cancelled(b.t, on)
	defer cancel()
	if err := b.run(ctx, change...); !errors.Is(err, ErrInterrupted) || errors.Is(err, ErrStopped) {
		b.t.Fatalf("error %v, want an interrupt", err)
	}
	b.read(func(s *db.Store) {
		if last, _, err := s.LastLaunch(); err != nil || last.End != "interrupted" {
			b.t.Errorf("the session ended as %q (%v)", last.End, err)
		}
	})
}

// A model call in flight that ends within the grace is committed; nothing new
// is begun; the resume goes on from there.
func TestInterruptLetsModelCallsEnd(t *testing.T) {
	interrupt := make(chan bool, 1)
	var b *bench
	b = newBench(t, func(a ask) (int, string) {
		if a.Prompt == "a" && a.Turn == 1 {
			interrupt <- true
			<-b.now.Load().stop.soft
			return shell("echo three >> f")
		}
		if a.Turn == 0 {
			return shell("echo one >> f")
		}
		return says("done")
	})
	b.prompts("a", "b", "c")
	b.interruptedRun(interrupt, oneWorker, grace(10*time.Second))
	b.wantEnds("", "", "")
	b.model.wantCount(2)
	b.read(func(s *db.Store) {
		if got := kinds(t, s, 0); got != "attempt turn sandbox result turn" {
			t.Errorf("steps %q", got)
		}
	})
	if left := folders(t); !slices.Equal(left, []string{"0-0-a0"}) {
		t.Errorf("folders %q", left)
	}
	b.mustRun(resume)
	b.wantEnds(answered, answered, answered)
	b.model.wantOnce()
	if out := b.outcome(0); out.ToolReruns != 0 || out.Attempts != 1 {
		t.Errorf("outcome %+v", out)
	}
	if left := folders(t); len(left) > 0 {
		t.Errorf("folders %q are left", left)
	}
}

// One that does not end in time is cut off, and asked again by the resume.
func TestInterruptCutsModelCallsOff(t *testing.T) {
	interrupt := make(chan bool, 1)
	first := true
	b := newBench(t, func(a ask) (int, string) {
		if a.Turn == 1 && first {
			first = false
			interrupt <- true
			<-a.Gone
		}
		if a.Turn == 0 {
			return adds()
		}
		return says("done")
	})
	b.prompts("a", "b")
	began := time.Now()
	b.interruptedRun(interrupt, oneWorker, grace(100*time.Millisecond))
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the stop took %s", took)
	}
	b.wantEnds("", "")
	b.model.wantCount(2)
	b.mustRun(resume)
	b.wantEnds(answered, answered)
	b.model.wantCount(2 + 3)
	b.model.wantOnce()
}

// Calls in flight at the stop: one that ends in time is committed, others are
// run again by the resume, marked if they may have changed something.
func TestInterruptDuringACall(t *testing.T) {
	for _, c := range []struct {
		name, tool, arguments string
		grace                 time.Duration
		runs                  int // lines in the log that the call writes
		reruns                int
	}{
		{"a command that ends in time", "terminal", `{"command":"echo run >> log; touch begun; sleep 0.4; echo end >> log"}`, 20 * time.Second, 1, 0},
		{"a command that does not", "terminal", `{"command":"echo run >> log; [ -e again ] || { touch again begun; sleep 60; }"}`, 0, 2, 1},
		{"reading a file", "slow_read", `{}`, 0, 0, 0},
		{"writing a file", "slow_write", `{}`, 0, 0, 1},
		{"something without state", "slow_sum", `{}`, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			interrupt := make(chan bool, 1)
			var slow atomic.Bool
			slow.Store(true)
			wait := func(ctx context.Context, call *tools.Call) (tools.Result, error) {
				if slow.CompareAndSwap(true, false) {
					interrupt <- true
					<-ctx.Done()
					return tools.Result{}, ctx.Err()
				}
				return fine("{}")
			}
			b := newBench(t, func(a ask) (int, string) {
				if a.Turn == 0 {
					return calls("terminal", `{"command":"true"}`, c.tool, c.arguments, "terminal", `{"command":"cat log || true"}`)
				}
				return says(strings.Join(a.Results, " "))
			})
			b.offer(probe{name: "slow_read", state: tools.StateSandbox, readOnly: true, call: wait},
				probe{name: "slow_write", state: tools.StateSandbox, call: wait},
				probe{name: "slow_sum", readOnly: true, call: wait})
			b.prompts("a")
			if c.tool == "terminal" {
				go func() {
					for b.now.Load() == nil || !there(b.workFolder(0, 0)+"/work/begun") {
						time.Sleep(time.Millisecond)
					}
					interrupt <- true
				}()
			}
			b.interruptedRun(interrupt, grace(c.grace))
			b.mustRun(resume)
			b.wantEnds(answered)
			b.model.wantCount(2)
			talk := b.talk(0)
			if got := strings.Count(talk[len(talk)-1], `run\\n`); got != c.runs {
				t.Errorf("the command ran %d times, want %d: %s", got, c.runs, talk[len(talk)-1])
			}
			if out := b.outcome(0); out.ToolReruns != c.reruns || out.Attempts != 1 {
				t.Errorf("%d reruns and %d attempts, want %d and 1", out.ToolReruns, out.Attempts, c.reruns)
			}
		})
	}
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Run, interrupt, resume to the end, resume again.
func TestInterruptResumeResume(t *testing.T) {
	interrupt := make(chan bool, 1)
	b := newBench(t, func(a ask) (int, string) {
		switch {
		case a.Prompt == "b" && a.Turn == 1:
			select {
			case interrupt <- true:
				<-a.Gone
			default:
			}
		case a.Turn == 0:
			return adds()
		}
		return says("done")
	})
	b.prompts("a", "b", "c")
	b.interruptedRun(interrupt, oneWorker)
	interrupt <- true
	b.wantEnds(answered, "", "")
	b.mustRun(resume)
	b.wantEnds(answered, answered, answered)
	b.model.wantOnce()
	before := b.model.count()
	b.mustRun(resume)
	b.model.wantCount(before)
	b.read(func(s *db.Store) {
		launches, err := s.Launches()
		var ends []string
		for _, l := range launches {
			ends = append(ends, l.End)
		}
		if err != nil || fmt.Sprint(ends) != "[interrupted complete complete]" {
			t.Errorf("sessions ended %q, %v", ends, err)
		}
	})
}

// An interrupt ends the waits of a run as well: for a retry, for a limit, for
// a folder.
func TestInterruptEndsWaits(t *testing.T) {
	for name, reply := range map[string]func(a ask) (int, string){
		"for a retry": func(a ask) (int, string) { return broken(500, "oops") },
		"for a limit": func(a ask) (int, string) {
			a.Answer.Set("Retry-After", "1000")
			return broken(429, "rate_limit_exceeded")
		},
		"for a folder": func(a ask) (int, string) {
			<-a.Gone
			return 0, ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			interrupt := make(chan bool, 3)
			var works atomic.Bool
			b := newBench(t, func(a ask) (int, string) {
				if works.Load() {
					return says("done")
				}
				interrupt <- true
				return reply(a)
			})
			b.deps.Sleep = func(ctx context.Context, d time.Duration) error {
				<-ctx.Done()
				return ctx.Err()
			}
			dir := t.TempDir()
			b.dataset(fmt.Sprintf(`{"prompt":"a","cwd":%q}`, dir), fmt.Sprintf(`{"prompt":"b","cwd":%q}`, dir), `{"prompt":"c"}`)
			b.interruptedRun(interrupt, grace(50*time.Millisecond))
			b.wantEnds("", "", "")
			works.Store(true)
			b.mustRun(resume)
			b.wantEnds(answered, answered, answered)
		})
	}
}

func TestInterruptBeforeTheWork(t *testing.T) {
	b := newBench(t, echoes)
	b.prompts("a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.run(ctx); !errors.Is(err, ErrInterrupted) {
		t.Errorf("error %v", err)
	}
	b.model.wantCount(0)
	b.mustRun(resume)
	b.wantEnds(answered)
}

// A store that cannot be written ends the run; nothing is reported done that
// is not durable.
func TestFailingStoreStopsTheRun(t *testing.T) {
	var b *bench
	fails := true
	b = newBench(t, func(a ask) (int, string) {
		if a.Prompt == "b" && fails {
			b.store().Close()
		}
		return says("done")
	})
	b.prompts("a", "b", "c")
	r, err := b.start(t.Context(), oneWorker)
	if err != nil {
		t.Fatal(err)
	}
	b.now.Store(r)
	if err := r.Work(t.Context()); !stopped(err) || !errors.Is(err, db.ErrClosed) {
		t.Errorf("error %v", err)
	}
	if s := r.Progress().Snapshot(); s.Done != 1 {
		t.Errorf("%d prompts are reported done", s.Done)
	}
	r.Close(nil)
	b.wantEnds(answered, "", "")
	b.model.wantCount(2)
	fails = false
	b.mustRun(resume)
	b.wantEnds(answered, answered, answered)
}
