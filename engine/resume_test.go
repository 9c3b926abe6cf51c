package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes-batch/db"
)

// A prompt whose row will be discarded is done like any other.
func TestDiscardedPromptsAreDone(t *testing.T) {
	b := newBench(t, func(a ask) (int, string) {
		if a.Prompt == "plain" {
			return 200, message(map[string]any{"role": "assistant", "content": "42"}, "stop")
		}
		return says("42")
	})
	b.prompts("plain", "reasoned")
	b.mustRun()
	b.mustRun(resume)
	b.mustRun(resume, func(o *Options) { o.RetryIncomplete = []string{"all"} })
	b.model.wantCount(2)
	b.wantEnds(answered, answered)
	if a, r := b.outcome(0), b.outcome(1); a.ReasonedTurns != 0 || r.ReasonedTurns != 1 {
		t.Errorf("%d and %d turns with reasoning", a.ReasonedTurns, r.ReasonedTurns)
	}
}

// Calls that repeat refused arguments are counted across sessions.
func TestRepeatedCallsAreCountedAcrossSessions(t *testing.T) {
	refused := true
	b := newBench(t, func(a ask) (int, string) {
		if a.Turn == 2 && refused {
			return broken(401, "invalid_api_key")
		}
		return calls("terminal", "{}")
	})
	b.prompts("a")
	if err := b.run(t.Context()); err == nil {
		t.Fatal("the run did not stop")
	}
	refused = false
	b.mustRun(resume)
	b.wantEnds("partial/invalid_tool_calls")
	if out := b.outcome(0); out.APICalls != 4 {
		t.Errorf("%d turns", out.APICalls)
	}
}

// What earlier sessions found out stays as it was.
func TestResumeKeepsEarlierOutcomes(t *testing.T) {
	works := false
	b := newBench(t, func(a ask) (int, string) {
		switch {
		case a.Prompt == "b" && !works:
			return broken(500, "oops")
		case a.Turn == 0:
			return adds()
		}
		return says("done")
	})
	b.prompts("a", "b", "c")
	b.mustRun()
	b.wantEnds(answered, "failed/server/transient", answered)
	before := []db.Outcome{b.outcome(0), b.outcome(2)}
	works = true
	b.mustRun(resume)
	b.wantEnds(answered, answered, answered)
	if after := []db.Outcome{b.outcome(0), b.outcome(2)}; !reflect.DeepEqual(before, after) {
		t.Errorf("outcomes were\n%+v\nand are\n%+v", before, after)
	}
	b.model.wantCount(2*2 + 6 + 2)
}

// Files are no evidence that anything is done.
func TestFilesAreNoEvidence(t *testing.T) {
	b := newBench(t, echoes)
	b.prompts("a", "b", "c")
	if err := os.MkdirAll("data/r", 0o777); err != nil {
		t.Fatal(err)
	}
	writeFile(t, "data/r/batch_0.jsonl", "")
	b.mustRun(resume, func(o *Options) { o.MaxSamples = 1 })
	b.model.wantCount(1)
	writeFile(t, "data/r/batch_1.jsonl", `{"prompt_index": 1, "conv`)
	writeFile(t, "data/r/checkpoint.json", `{"completed_prompts": [0, 1, 2]}`)
	b.mustRun(resume)
	b.model.wantCount(3)
	b.wantEnds(answered, answered, answered)
}

func TestFailedPromptsAreRetried(t *testing.T) {
	for _, c := range []struct {
		retry string
		asks  string // prompts of the second run
	}{
		{"all", "[bad request transient unknown model]"},
		{"transient", "[transient]"},
		{"none", "[]"},
	} {
		t.Run(c.retry, func(t *testing.T) {
			works := false
			b := newBench(t, func(a ask) (int, string) {
				switch {
				case works:
				case a.Prompt == "bad request":
					return broken(400, "bad")
				case a.Prompt == "unknown model":
					return broken(404, "model_not_found")
				case a.Prompt == "transient":
					return broken(502, "bad gateway")
				}
				return says("done")
			})
			b.prompts("fine", "bad request", "transient", "unknown model")
			b.mustRun()
			b.wantEnds(answered, "failed/bad_request/permanent", "failed/server/transient", "failed/model_not_found/permanent")
			b.model.wantCount(1 + 1 + 6 + 1)
			works = true
			before := b.model.count()
			b.mustRun(resume, func(o *Options) { o.RetryFailed = c.retry })
			if got := fmt.Sprint(b.model.seen(before)); got != c.asks {
				t.Errorf("asked %s, want %s", got, c.asks)
			}
			if s := b.now.Load().Progress().Snapshot(); s.Done != 4 || s.Total != 4 {
				t.Errorf("%d of %d done", s.Done, s.Total)
			}
		})
	}
}

// A failed prompt goes on from its last committed turn; its tries add up.
func TestFailedPromptGoesOn(t *testing.T) {
	works := false
	b := newBench(t, func(a ask) (int, string) {
		switch {
		case a.Turn == 0:
			return shell("echo x > f; export A=1")
		case !works:
			return broken(503, "oops")
		case a.Turn == 1:
			return shell("cat f; echo $A")
		}
		return says(strings.Join(a.Results, " "))
	})
	b.prompts("a")
	b.mustRun()
	b.wantEnds("failed/server/transient")
	if left := folders(t); !slices.Equal(left, []string{"0-0-a0"}) {
		t.Errorf("folders %q; that of a failed prompt is kept", left)
	}
	if out := b.outcome(0); out.Tries != 7 || out.APICalls != 1 {
		t.Errorf("%d tries, %d turns", out.Tries, out.APICalls)
	}
	b.mustRun(resume)
	b.wantEnds("failed/server/transient")
	if out := b.outcome(0); out.Tries != 13 || out.APICalls != 1 {
		t.Errorf("%d tries, %d turns", out.Tries, out.APICalls)
	}
	works = true
	b.mustRun(resume)
	b.wantEnds(answered)
	b.model.wantCount(7 + 6 + 2)
	b.model.wantOnce()
	out := b.outcome(0)
	if out.Tries != 15 || out.APICalls != 3 || out.Attempts != 1 || out.Class != "" || out.Message != "" {
		t.Errorf("outcome %+v", out)
	}
	if talk := b.talk(0); !strings.Contains(talk[len(talk)-1], `x\\n1\\n`) {
		t.Errorf("the sandbox was another one: %s", talk[len(talk)-1])
	}
	if left := folders(t); len(left) > 0 {
		t.Errorf("folders %q are left", left)
	}
}

func retryIncomplete(reasons ...string) func(*Options) {
	return func(o *Options) { o.RetryIncomplete = reasons }
}

// Incomplete prompts that are asked for go on before the model's last word, or
// after the last results.
func TestIncompletePromptsAreRetried(t *testing.T) {
	thinks := func() (int, string) {
		return 200, message(map[string]any{"role": "assistant", "content": nil, "reasoning": "hm"}, "stop")
	}
	refuses := func() (int, string) {
		return 200, message(map[string]any{"role": "assistant", "content": nil, "refusal": "I cannot"}, "stop")
	}
	invalid := func() (int, string) { return calls("made_up", "{}") }
	long := func() (int, string) { return broken(400, "context_length_exceeded") }
	cut := func() (int, string) {
		status, body := adds()
		return status, strings.Replace(body, `"finish_reason":"tool_calls"`, `"finish_reason":"length"`, 1)
	}
	for _, c := range []struct {
		name, reason string
		replies      []func() (int, string)
		first        int    // requests of the first run
		kinds        string // of the thread in the end
		attempts     int
		spent        int64 // completion tokens in the end
	}{
		{"max_turns", reasonMaxTurns, []func() (int, string){adds, adds, adds}, 3, "attempt turn result turn result turn result retry turn", 1, 20},
		{"only reasoning", reasonOnlyReasoning, []func() (int, string){adds, thinks}, 2, "attempt turn result attempt turn", 2, 15},
		{"only reasoning at once", reasonOnlyReasoning, []func() (int, string){thinks}, 1, "attempt attempt turn", 2, 10},
		{"a refusal", reasonRefusal, []func() (int, string){adds, refuses}, 2, "attempt turn result attempt turn", 2, 15},
		{"invalid calls", reasonInvalidCalls, []func() (int, string){invalid, invalid, invalid}, 3, "attempt turn result turn result turn result retry turn", 1, 20},
		{"a long conversation", reasonContext, []func() (int, string){adds, long}, 2, "attempt turn result retry turn", 1, 10},
		{"cut replies", reasonCutReplies, []func() (int, string){cut, cut, cut}, 3, "attempt rejected rejected rejected retry turn", 1, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := 0
			b := newBench(t, func(a ask) (int, string) {
				if asked++; asked <= len(c.replies) {
					return c.replies[asked-1]()
				}
				return says("done")
			})
			b.prompts("a")
			b.mustRun(maxTurns(3))
			if got := b.ends()[0]; !strings.HasSuffix(got, "/"+c.reason) {
				t.Fatalf("ended as %s", got)
			}
			b.model.wantCount(c.first)
			other := retryIncomplete(slices.DeleteFunc(slices.Clone(incompleteReasons), func(r string) bool { return r == c.reason })...)
			b.mustRun(resume, maxTurns(3), other)
			b.model.wantCount(c.first)
			b.mustRun(resume, maxTurns(5), retryIncomplete(c.reason), func(o *Options) { o.AllowConfigChange = true })
			b.model.wantCount(c.first + 1)
			b.wantEnds(answered)
			b.read(func(s *db.Store) {
				if got := kinds(t, s, 0); got != c.kinds {
					t.Errorf("steps %q, want %q", got, c.kinds)
				}
			})
			out := b.outcome(0)
			if out.Attempts != c.attempts || out.Tries != c.first+1 || out.Spent.CompletionTokens != c.spent {
				t.Errorf("%d attempts, %d tries, spent %+v; want %d, %d, %d", out.Attempts, out.Tries, out.Spent, c.attempts, c.first+1, c.spent)
			}
			if out.Usage.CompletionTokens != 5*int64(out.APICalls) {
				t.Errorf("usage %+v of %d turns", out.Usage, out.APICalls)
			}
			before := b.model.count()
			b.mustRun(resume, maxTurns(5), retryIncomplete("all"))
			b.model.wantCount(before)
		})
	}
}

// Retried in vain, a prompt stays what it was, and can be retried again.
func TestIncompletePromptRetriedInVain(t *testing.T) {
	b := newBench(t, func(a ask) (int, string) { return adds() })
	b.prompts("a")
	b.mustRun(maxTurns(2))
	for n := 3; n <= 5; n++ {
		b.mustRun(resume, maxTurns(n), retryIncomplete("all"), func(o *Options) { o.AllowConfigChange = true })
		b.wantEnds("incomplete/max_turns")
		b.model.wantCount(n)
		if out := b.outcome(0); out.APICalls != n || out.Tries != n {
			t.Errorf("outcome %+v", out)
		}
	}
	b.mustRun(resume, maxTurns(5), retryIncomplete("all")) // no turn is left
	b.model.wantCount(5)
	b.wantEnds("incomplete/max_turns")
}

// The work folder of an incomplete prompt is gone. Its retry begins anew where
// it was first used, and the conversation knows one folder.
func TestIncompletePromptWithoutItsSandbox(t *testing.T) {
	for _, c := range []struct {
		name     string
		thinks   int // turn that is reasoning alone, the first time
		maxTurns int
		requests int
		last     string // result that the model saw
	}{
		{"only reasoning", 2, 9, 3 + 2, `\"0\\n1\\n\"`},
		{"max_turns", -1, 2, 2 + 3, `\"0\\n1\\n2\\n\"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			thought := false
			b := newBench(t, func(a ask) (int, string) {
				switch {
				case a.Turn == c.thinks && !thought:
					thought = true
					return 200, message(map[string]any{"role": "assistant", "content": nil, "reasoning": "hm"}, "stop")
				case a.Turn == 3 || a.Turn == 2 && c.thinks >= 0:
					return says(strings.Join(a.Results, " "))
				}
				return shell(fmt.Sprintf("echo %d >> f; cat f", a.Turn))
			})
			b.prompts("a")
			b.mustRun(maxTurns(c.maxTurns))
			first := b.model.count()
			b.mustRun(resume, maxTurns(9), retryIncomplete("all"), func(o *Options) { o.AllowConfigChange = true })
			b.wantEnds(answered)
			b.model.wantCount(c.requests)
			talk := b.talk(0)
			if last := talk[len(talk)-2]; !strings.Contains(last, c.last) {
				t.Errorf("the conversation mixes folders: %s, want %s", last, c.last)
			}
			out := b.outcome(0)
			if out.Attempts != 2 || out.Tries != b.model.count() || out.Spent.CompletionTokens != 5*int64(out.Tries) || out.Tries <= first {
				t.Errorf("outcome %+v", out)
			}
			if left := folders(t); len(left) > 0 {
				t.Errorf("folders %q are left", left)
			}
		})
	}
}

// A retry that was interrupted is work in flight: it goes on, and does not
// begin again.
func TestInterruptedRetryGoesOn(t *testing.T) {
	interrupt := make(chan bool, 1)
	works := false
	var b *bench
	b = newBench(t, func(a ask) (int, string) {
		switch {
		case a.Turn == 1 && !works:
			return broken(500, "oops")
		case a.Turn == 2 && len(interrupt) == 0:
			interrupt <- true
			<-b.now.Load().stop.soft
		case a.Turn == 4:
			return says("done")
		}
		return adds()
	})
	b.prompts("a")
	b.mustRun()
	works = true
	b.interruptedRun(interrupt, resume, grace(10*time.Second))
	b.wantEnds("failed/server/transient")
	interrupt <- true
	b.mustRun(resume)
	b.wantEnds(answered)
	b.model.wantOnce()
	b.model.wantCount(7 + 2 + 2)
	if out := b.outcome(0); out.Tries != 11 || out.APICalls != 5 || out.Attempts != 1 {
		t.Errorf("outcome %+v", out)
	}
	b.read(func(s *db.Store) {
		if got := kinds(t, s, 0); got != "attempt turn result retry turn result turn result turn result turn" {
			t.Errorf("steps %q", got)
		}
	})
}

// A retry that was asked for goes on after an interrupt without being asked for
// again.
func TestInterruptedRetryOfAnIncompletePromptGoesOn(t *testing.T) {
	interrupt := make(chan bool, 1)
	var b *bench
	b = newBench(t, func(a ask) (int, string) {
		switch {
		case a.Turn == 3 && len(interrupt) == 0:
			interrupt <- true
			<-b.now.Load().stop.soft
		case a.Turn == 4:
			return says("done")
		}
		return adds()
	})
	turns := func(n int) func(*Options) {
		return func(o *Options) { o.MaxTurns, o.AllowConfigChange = n, true }
	}
	b.prompts("a")
	b.mustRun(turns(2))
	b.wantEnds("incomplete/max_turns")
	b.interruptedRun(interrupt, resume, grace(10*time.Second), turns(9), func(o *Options) { o.RetryIncomplete = []string{"all"} })
	b.wantEnds("incomplete/max_turns")
	interrupt <- true
	b.mustRun(resume, turns(9))
	b.wantEnds(answered)
	b.model.wantOnce()
	b.model.wantCount(5)
}

// A program that died between the answer of a retried prompt and its outcome
// does not ask again.
func TestAnswerWithoutOutcome(t *testing.T) {
	for _, c := range []struct {
		name  string
		reply func() (int, string) // to the second request
		again func(fork *db.Attempt) db.Record
	}{
		{"after a failure", func() (int, string) { return broken(400, "bad") }, func(*db.Attempt) db.Record { return nil }},
		{"after a refusal", func() (int, string) {
			return 200, message(map[string]any{"role": "assistant", "content": "", "refusal": "no"}, "stop")
		}, func(a *db.Attempt) db.Record {
			return &db.Attempt{Parent: 0, ForkStep: 2, Reason: attemptRetry, Settings: a.Settings, Toolsets: a.Toolsets, Offered: a.Offered, Tools: a.Tools}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, func(a ask) (int, string) {
				if a.Turn == 0 {
					return adds()
				}
				return c.reply()
			})
			b.prompts("a")
			b.mustRun()
			var first *db.Attempt
			b.read(func(s *db.Store) { first = records[*db.Attempt](t, s, 0)[0] })
			again := c.again(first)
			if again == nil {
				again = &db.Retry{Settings: first.Settings, Toolsets: first.Toolsets, Offered: first.Offered, Tools: first.Tools, Tries: 1}
			}
			b.commit(again, &db.Turn{Entry: db.Entry{From: "gpt", Value: "42"}, Finish: "stop", Tries: 1})
			b.mustRun(resume, retryIncomplete("all"))
			b.wantEnds(answered)
			b.model.wantCount(2)
		})
	}
}

func TestRetryReasons(t *testing.T) {
	for text, want := range map[string]string{
		"true": "[all]", "all": "[all]", "": "[]", "none": "[]", "false": "[]",
		"max_turns": "[max_turns]", "max_turns, context": "[max_turns context]",
	} {
		list := []string{"before"}
		if err := (retryReasons{&list}).Set(text); err != nil || fmt.Sprint(list) != want {
			t.Errorf("%q: %v, %v", text, list, err)
		}
	}
	for _, text := range []string{"rate_limit", "max_turns,", "all,context", "MAX_TURNS"} {
		var list []string
		if err := (retryReasons{&list}).Set(text); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "max_turns, prompt_timeout") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A store that is damaged is refused and stays as it is.
func TestDamagedStoreIsRefused(t *testing.T) {
	b := newBench(t, echoes)
	b.prompts("a", "b")
	b.mustRun()
	raw, err := os.ReadFile(storeFile())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 64 << 10 { // both of its roots lie there
		raw[i] ^= 0x55
	}
	if err := os.WriteFile(storeFile(), raw, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := b.run(t.Context(), resume); err == nil || errors.Is(err, ErrUsage) {
		t.Errorf("error %v", err)
	}
	after, err := os.ReadFile(storeFile())
	if err != nil || !slices.Equal(raw, after) {
		t.Errorf("the damaged file was changed (%v)", err)
	}
	b.model.wantCount(2)
	b.mustRun(func(o *Options) { o.Overwrite = true })
	b.model.wantCount(4)
	if old, _ := filepath.Glob("data/r.old-*/run.db"); len(old) != 1 {
		t.Errorf("the damaged store is not kept: %q", old)
	}
}
