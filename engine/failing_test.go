package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hermes-batch/db"
	"hermes-batch/tools"
)

func stopped(err error) bool { return errors.Is(err, ErrStopped) && !errors.Is(err, ErrInterrupted) }

// Refused credentials and an empty account stop the run within one round; no
// prompt is lost.
func TestFatalAnswersStopTheRun(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		want   string
	}{
		{401, "invalid_api_key", "credentials"},
		{403, "forbidden", "credentials"},
		{402, "insufficient_quota", "payment"},
		{429, "insufficient_quota", "payment"},
	} {
		t.Run(fmt.Sprint(c.status, " ", c.code), func(t *testing.T) {
			var paid atomic.Bool
			b := newBench(t, func(a ask) (int, string) {
				switch {
				case a.Prompt == "p0" && a.Turn == 0:
					return adds()
				case paid.Load() || a.Prompt == "p0" && a.Turn == 0:
					return says("done")
				}
				return broken(c.status, c.code)
			})
			var prompts []string
			for i := range 20 {
				prompts = append(prompts, fmt.Sprint("p", i))
			}
			b.prompts(prompts...)
			const workers = 4
			err := b.run(t.Context(), func(o *Options) { o.Workers = workers })
			if !stopped(err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
			if n := b.model.count(); n > workers+1 {
				t.Errorf("%d requests before the stop", n)
			}
			b.wantEnds(make([]string, 20)...)
			b.read(func(s *db.Store) {
				if last, _, err := s.LastLaunch(); err != nil || !strings.HasPrefix(last.End, "stopped: "+c.want) {
					t.Errorf("the session ended as %q (%v)", last.End, err)
				}
			})
			paid.Store(true)
			b.mustRun(resume)
			b.wantEnds(slices.Repeat([]string{answered}, 20)...)
			b.model.wantOnce()
		})
	}
}

// An endpoint that is down from the start stops the run at once, one that goes
// down later is a transient failure of the prompts.
func TestEndpointThatIsDown(t *testing.T) {
	t.Run("from the start", func(t *testing.T) {
		b := newBench(t, echoes)
		b.prompts("a", "b", "c")
		err := b.run(t.Context(), func(o *Options) { o.BaseURL = "http://" + closedPort(t) + "/v1" })
		if !stopped(err) || !strings.Contains(err.Error(), "endpoint") {
			t.Errorf("error %v", err)
		}
		b.wantEnds("", "", "")
		b.mustRun(resume)
		b.wantEnds(answered, answered, answered)
	})
	t.Run("another path", func(t *testing.T) {
		b := newBench(t, echoes)
		b.prompts("a")
		other := newScript(t, nil)
		other.Config.Handler = http.NotFoundHandler()
		if err := b.run(t.Context(), func(o *Options) { o.BaseURL = other.URL }); !stopped(err) {
			t.Errorf("error %v", err)
		}
		b.wantEnds("")
	})
	t.Run("later", func(t *testing.T) {
		var b *bench
		b = newBench(t, func(a ask) (int, string) {
			if a.Prompt == "b" {
				b.model.Listener.Close()
				go b.model.CloseClientConnections()
				<-a.Gone
			}
			return says("done")
		})
		b.prompts("a", "b")
		b.mustRun(oneWorker)
		b.wantEnds(answered, "failed/network/transient")
		if out := b.outcome(1); out.Tries < 6 || out.Tries > 7 {
			t.Errorf("%d tries", out.Tries) // a connection that dies under a request is tried again once for nothing
		}
	})
}

// closedPort is a loopback address where nobody listens.
func closedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// A limit that lasts for hours stops the run instead of eating its tries.
func TestLongRateLimitStopsTheRun(t *testing.T) {
	limited := true
	b := newBench(t, func(a ask) (int, string) {
		if limited {
			a.Answer.Set("Retry-After", "7200")
			return broken(429, "rate_limit_exceeded")
		}
		return says("done")
	})
	b.prompts("a", "b")
	if err := b.run(t.Context(), oneWorker); !stopped(err) || !strings.Contains(err.Error(), "rate limited until") {
		t.Errorf("error %v", err)
	}
	b.wantEnds("", "")
	b.model.wantCount(1)
	limited = false
	b.mustRun(resume)
	b.wantEnds(answered, answered)
}

// patiently tries something with longer and longer time limits until it comes
// out as it should: on a loaded machine everything may take a second.
func patiently(t *testing.T, try func(limit time.Duration) error) {
	t.Helper()
	for limit := time.Second; ; limit *= 4 {
		err := try(limit)
		if err == nil {
			return
		}
		if limit > 10*time.Second {
			t.Fatal(err)
		}
	}
}

func promptTimeout(d time.Duration) func(*Options) {
	return func(o *Options) { o.PromptTimeout = d }
}

// Waiting for a rate limit is no try and no time of the prompt.
func TestRateLimitIsNotThePromptsTime(t *testing.T) {
	patiently(t, func(limit time.Duration) error {
		asked := 0
		b := newBench(t, func(a ask) (int, string) {
			switch asked++; asked {
			case 1:
				return adds()
			case 2, 3:
				a.Answer.Set("Retry-After-Ms", fmt.Sprint(limit.Milliseconds()*6/10))
				return broken(429, "rate_limit_exceeded")
			}
			return says("done")
		})
		b.deps.Sleep = nil
		b.prompts("a")
		began := time.Now()
		b.mustRun(promptTimeout(limit))
		if took := time.Since(began); took < limit*12/10 {
			t.Errorf("took %s, the waits alone are longer", took)
		}
		if end := b.ends()[0]; end != answered {
			return fmt.Errorf("ended as %s within %s", end, limit)
		}
		return nil
	})
}

// A model that never answers costs one prompt, not the run.
func TestSilentModel(t *testing.T) {
	patiently(t, func(limit time.Duration) error {
		silent := true
		b := newBench(t, func(a ask) (int, string) {
			if a.Prompt == "c" && silent {
				<-a.Gone
			}
			return says("done")
		})
		b.prompts("a", "b", "c", "d")
		b.mustRun(promptTimeout(limit), func(o *Options) { o.Workers = 2 })
		ends := b.ends()
		if len(ends) != 4 || ends[2] != "failed/timeout/transient" {
			t.Errorf("ended as %v", ends)
		}
		for _, index := range []int{0, 1, 3} {
			if ends[index] != answered {
				return fmt.Errorf("ended as %v within %s", ends, limit)
			}
		}
		silent = false
		b.mustRun(resume)
		b.wantEnds(answered, answered, answered, answered)
		b.model.wantOnce()
		return nil
	})
}

// A request that gets no answer in its time is tried again.
func TestRequestTimeout(t *testing.T) {
	patiently(t, func(limit time.Duration) error {
		asked := 0
		b := newBench(t, func(a ask) (int, string) {
			if asked++; asked == 1 {
				<-a.Gone
			}
			return says("done")
		})
		b.prompts("a")
		b.mustRun(func(o *Options) { o.RequestTimeout = limit })
		if out := b.outcome(0); out.End != db.EndCompleted || out.Tries != 2 {
			return fmt.Errorf("ended as %s after %d tries of %s", out.End, out.Tries, limit)
		}
		return nil
	})
}

// At its time limit a prompt that has got somewhere is incomplete. Calls that
// were not finished say so, and the conversation stays well formed. The retry
// goes on after them; only if their work folder was removed it runs them anew.
func TestPromptTimeoutInATool(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "began")
	command := fmt.Sprintf(`{"command":"[ -e '%s' ] || { touch '%s'; sleep 600; }; echo finished"}`, marker, marker)
	for _, c := range []struct{ tool, arguments, told string }{
		{"terminal", command, "finished\\\\n"},
		{"slow", "{}", "not finished"},
	} {
		t.Run(c.tool, func(t *testing.T) {
			os.Remove(marker)
			reply := func(a ask) (int, string) {
				switch a.Turn {
				case 0:
					return adds()
				case 1:
					return calls(c.tool, c.arguments, "calculator", `{"expression":"1"}`)
				}
				return says(strings.Join(a.Results, " "))
			}
			slow := probe{name: "slow", call: func(ctx context.Context, _ *tools.Call) (tools.Result, error) {
				writeFile(t, marker, "")
				<-ctx.Done()
				return tools.Result{}, ctx.Err()
			}}
			var b *bench
			patiently(t, func(limit time.Duration) error {
				b = newBench(t, reply)
				b.offer(slow)
				b.prompts("a")
				b.mustRun(promptTimeout(limit))
				if !there(marker) {
					return fmt.Errorf("the tool was not begun within %s", limit)
				}
				return nil
			})
			b.wantEnds("incomplete/prompt_timeout")
			out := b.outcome(0)
			if out.APICalls != 2 || out.ToolStats[c.tool].Failure != 1 || out.ToolStats["calculator"] != (db.ToolStat{Count: 2, Success: 1, Failure: 1}) {
				t.Errorf("outcome %+v", out)
			}
			if left := folders(t); len(left) > 0 {
				t.Errorf("folders %q are left", left)
			}
			b.mustRun(resume)
			b.model.wantCount(2)
			b.mustRun(resume, retryIncomplete(reasonPromptTimeout))
			b.wantEnds(answered)
			b.model.wantCount(3)
			b.model.wantOnce()
			if talk := b.talk(0); !strings.Contains(talk[len(talk)-1], c.told) {
				t.Errorf("the model was told %s", talk[len(talk)-1])
			}
		})
	}
}
