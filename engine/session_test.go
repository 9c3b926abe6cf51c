package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hermes-batch/db"
	"hermes-batch/tools"
)

// A model turn and the results before it are in the store before the session's
// next request is sent.
func TestTurnsAreDurableBeforeTheNextRequest(t *testing.T) {
	var b *bench
	b = newBench(t, func(a ask) (int, string) {
		if a.Turn > 0 {
			want := "attempt turn" + strings.Repeat(" result turn", a.Turn-1)
			if got := kinds(t, b.store(), 0); !strings.HasPrefix(got, want) {
				t.Errorf("at the request for turn %d the store holds %q, want %q", a.Turn, got, want)
			}
		}
		if a.Turn == 4 {
			return says("done")
		}
		return adds()
	})
	b.prompts("a")
	b.mustRun()
	b.wantEnds(answered)
}

// A turn is in the store before its tools run; a result before the next call
// that is not read-only.
func TestTurnsAndResultsAreDurableBeforeCalls(t *testing.T) {
	var b *bench
	var saw []string
	look := func(context.Context, *tools.Call) (tools.Result, error) {
		saw = append(saw, kinds(t, b.store(), 0))
		return fine("{}")
	}
	b = newBench(t, func(a ask) (int, string) {
		if a.Turn == 0 {
			return calls("write", "{}", "write", "{}", "box", "{}", "write", "{}")
		}
		return says("done")
	})
	b.offer(probe{name: "write", call: look}, probe{name: "box", state: tools.StateSandbox, call: look})
	b.prompts("a")
	b.mustRun()
	want := []string{"attempt turn", "attempt turn result", "attempt turn result result sandbox", "attempt turn result result sandbox result"}
	if fmt.Sprint(saw) != fmt.Sprint(want) {
		t.Errorf("the tools saw %q, want %q", saw, want)
	}
}

// A sandbox that the first call needs is recorded together with its turn.
func TestSandboxIsRecordedBeforeItIsUsed(t *testing.T) {
	b := newBench(t, func(a ask) (int, string) {
		switch a.Turn {
		case 0:
			return calls("box", "{}", "box", "{}")
		case 1:
			return calls("box", "{}")
		}
		return says("done")
	})
	b.offer(probe{name: "box", state: tools.StateSandbox, call: func(context.Context, *tools.Call) (tools.Result, error) {
		if got := kinds(t, b.store(), 0); !strings.HasPrefix(got, "attempt turn sandbox") {
			t.Errorf("the tool runs over %q", got)
		}
		return fine("{}")
	}})
	b.prompts("a")
	b.mustRun()
	b.read(func(s *db.Store) {
		if got := kinds(t, s, 0); got != "attempt turn sandbox result result turn result turn" {
			t.Errorf("steps %q", got)
		}
	})
}

// An outcome is durable, and the work folder gone, before its worker takes the
// next prompt.
func TestOutcomeIsDurableBeforeTheNextPrompt(t *testing.T) {
	var b *bench
	b = newBench(t, func(a ask) (int, string) {
		if a.Prompt == "second" {
			out, found, err := b.store().Outcome(0)
			if err != nil || !found || out.End != db.EndCompleted {
				t.Errorf("the first prompt's outcome is %+v, %v", out, err)
			}
			if left := folders(t); len(left) > 0 {
				t.Errorf("folders %q are left", left)
			}
			return says("done")
		}
		if a.Turn == 0 {
			return shell("echo x > f")
		}
		return says("done")
	})
	b.prompts("first", "second")
	b.mustRun(oneWorker)
	b.wantEnds(answered, answered)
}

// Calls that only read run beside each other, whichever ends first; their
// results come in the order of the calls.
func TestReadOnlyCallsRunSideBySide(t *testing.T) {
	var together sync.WaitGroup
	together.Add(3)
	second := make(chan bool)
	wait := func(name string, then func()) probe {
		return probe{name: name, readOnly: true, call: func(ctx context.Context, c *tools.Call) (tools.Result, error) {
			together.Done()
			together.Wait()
			then()
			return fine(`"` + name + `"`)
		}}
	}
	b := newBench(t, func(a ask) (int, string) {
		if a.Turn == 0 {
			return calls("one", "{}", "two", "{}", "three", "{}")
		}
		return says(strings.Join(a.Results, " "))
	})
	b.offer(wait("one", func() { <-second }), wait("two", func() { close(second) }), wait("three", func() {}))
	b.prompts("a")
	b.mustRun(func(o *Options) { o.PromptTimeout = time.Minute })
	if talk := b.talk(0); !strings.Contains(talk[len(talk)-1], `\"one\" \"two\" \"three\"`) {
		t.Errorf("conversation %q", talk)
	}
}

func TestManyReadOnlyCalls(t *testing.T) {
	const n = 40
	var now, most atomic.Int32
	b := newBench(t, func(a ask) (int, string) {
		if a.Turn > 0 {
			return says(strings.Join(a.Results, ""))
		}
		var list []string
		for i := range n {
			list = append(list, "read", fmt.Sprintf(`{"n":%d}`, i))
		}
		return calls(list...)
	})
	b.offer(probe{name: "read", readOnly: true, call: func(_ context.Context, c *tools.Call) (tools.Result, error) {
		if at := now.Add(1); at > most.Load() {
			most.Store(at)
		}
		defer now.Add(-1)
		time.Sleep(time.Millisecond)
		return fine(string(c.Args))
	}})
	b.prompts("a")
	b.mustRun()
	var want strings.Builder
	for i := range n {
		fmt.Fprintf(&want, `{\"n\":%d}`, i)
	}
	if talk := b.talk(0); !strings.Contains(talk[len(talk)-1], want.String()) {
		t.Errorf("results came as %s", talk[len(talk)-1])
	}
	if most.Load() > maxSideBySide {
		t.Errorf("%d calls at once", most.Load())
	}
	if out := b.outcome(0); out.ToolStats["read"] != (db.ToolStat{Count: n, Success: n}) {
		t.Errorf("tool_stats %+v", out.ToolStats)
	}
}

func TestCalls(t *testing.T) {
	for _, c := range []struct {
		name, tool, arguments string
		status                string
		text                  string // part of the result
	}{
		{"a good call", "calculator", `{"expression":"17*23"}`, tools.StatusOK, "391"},
		{"a tool's own error", "calculator", `{"expression":"1/0"}`, tools.StatusError, "error"},
		{"a command that fails", "terminal", `{"command":"echo no; exit 3"}`, tools.StatusOK, `"exit_code":3`},
		{"a timeout", "terminal", `{"command":"echo begun; sleep 60","timeout":2}`, tools.StatusTimeout, "begun"},
		{"a name that does not exist", "made_up", `{}`, statusInvalidTool, `there is no tool \"made_up\"; available tools: calculator, `},
		{"a tool that is not offered", "browser_click", `{}`, statusNotOffered, `\"browser_click\" is not available here; available tools: calculator, `},
		{"a missing argument", "terminal", `{}`, tools.StatusBadArguments, "command"},
		{"near-miss names", "write_file", `{"path":"x","file_content":"y"}`, tools.StatusBadArguments, "file_content"},
		{"a wrong type", "calculator", `{"expression":["1"]}`, tools.StatusBadArguments, "expression"},
		{"no JSON", "write_file", `{"path":"x","content":"it's "quoted""}`, tools.StatusBadArguments, "invalid JSON"},
		{"not a number", "calculator", `{"expression":NaN}`, tools.StatusBadArguments, "invalid JSON"},
		{"a list", "calculator", `[{"expression":"1"}]`, tools.StatusBadArguments, "JSON object"},
		{"no arguments at all", "calculator", ``, tools.StatusBadArguments, "expression"},
		{"a doubled object", "calculator", `{"expression":"2*3"}{"expression":"2*3"}`, tools.StatusOK, "6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, func(a ask) (int, string) {
				if a.Turn == 0 {
					return calls("calculator", `{"expression":"1"}`, c.tool, c.arguments, "calculator", `{"expression":"2"}`)
				}
				return says("done")
			})
			b.prompts("a")
			b.mustRun()
			b.wantEnds(answered)
			b.model.wantCount(2)
			b.read(func(s *db.Store) {
				results := records[*db.Result](t, s, 0)
				if len(results) != 3 {
					t.Fatalf("%d results", len(results))
				}
				r := results[1]
				if r.Status != c.status || r.Success != (c.status == tools.StatusOK) || r.Name != c.tool || !strings.Contains(r.Text(), c.text) {
					t.Errorf("result %+v, want %s with %q", r, c.status, c.text)
				}
			})
			out := b.outcome(0)
			name := c.tool
			if c.status == statusInvalidTool {
				name = db.InvalidTool
			}
			if (len(out.InvalidTools) > 0) != (c.status == statusInvalidTool) {
				t.Errorf("invalid tools %q", out.InvalidTools)
			}
			sum := db.ToolStat{}
			for _, stat := range out.ToolStats {
				if stat.Count != stat.Success+stat.Failure {
					t.Errorf("tool_stats %+v", out.ToolStats)
				}
				sum.Count += stat.Count
			}
			if sum.Count != 3 || out.ToolStats[name].Count == 0 {
				t.Errorf("tool_stats %+v", out.ToolStats)
			}
		})
	}
}

// Results belong to calls by place, whatever the ids, and success is what the
// tool says.
func TestRepeatedCallIDs(t *testing.T) {
	b := newBench(t, func(a ask) (int, string) {
		if a.Turn < 2 {
			return 200, strings.ReplaceAll(second(calls("terminal", `{"command":"echo Error: not really"}`, "calculator", `{"expression":"1/0"}`)), `"c1"`, `"c0"`)
		}
		return says("done")
	})
	b.prompts("a")
	b.mustRun()
	out := b.outcome(0)
	if out.ToolStats["terminal"] != (db.ToolStat{Count: 2, Success: 2}) || out.ToolStats["calculator"] != (db.ToolStat{Count: 2, Failure: 2}) {
		t.Errorf("tool_stats %+v", out.ToolStats)
	}
}

func second(_ int, body string) string { return body }

// How a conversation ends, by the model's replies; the last reply goes on for
// ever.
func TestEnds(t *testing.T) {
	type reply = func() (int, string)
	answer := func() (int, string) { return says("42") }
	thinks := func() (int, string) {
		return 200, message(map[string]any{"role": "assistant", "content": nil, "reasoning": "let me think"}, "stop")
	}
	refuses := func() (int, string) {
		return 200, message(map[string]any{"role": "assistant", "content": nil, "refusal": "I cannot"}, "stop")
	}
	filtered := func() (int, string) {
		return 200, message(map[string]any{"role": "assistant", "content": ""}, "content_filter")
	}
	empty := func() (int, string) {
		return 200, message(map[string]any{"role": "assistant", "content": ""}, "stop")
	}
	cut := func() (int, string) {
		status, body := adds()
		return status, strings.Replace(body, `"finish_reason":"tool_calls"`, `"finish_reason":"length"`, 1)
	}
	lost := func() (int, string) {
		return 200, message(map[string]any{"role": "assistant", "content": "I will read it"}, "tool_calls")
	}
	invalid := func() (int, string) { return calls("made_up", "{}", "browser_click", "{}") }
	garbled := func() (int, string) { return calls("calculator", `{"expression"`) }
	mixed := func() (int, string) { return calls("made_up", "{}", "calculator", `{"expression":"1"}`) }
	without := func() (int, string) { return calls("terminal", `{}`) }
	wrongly := func() (int, string) {
		return calls("terminal", `{"command":["echo"],"shell":true}`, "process", `{"action":"poll"}`)
	}
	fails := func() (int, string) { return calls("read_file", `{"path":"gone"}`, "terminal", `{"command":"exit 1"}`) }
	fault := func(status int, code string) reply { return func() (int, string) { return broken(status, code) } }
	page := func() (int, string) { return 502, "<html><title>Bad gateway</title></html>" }

	for _, c := range []struct {
		name     string
		maxTurns int
		replies  []reply
		end      string
		requests int
		turns    int
		calls    int // results
	}{
		{"an answer", 3, []reply{answer}, answered, 1, 1, 0},
		{"an answer on the last turn", 3, []reply{adds, adds, answer}, answered, 3, 3, 2},
		{"no answer on the last turn", 3, []reply{adds, adds, adds, answer}, "incomplete/max_turns", 3, 3, 3},
		{"one turn", 1, []reply{adds, answer}, "incomplete/max_turns", 1, 1, 1},
		{"reasoning alone", 3, []reply{thinks}, "incomplete/only_reasoning", 1, 1, 0},
		{"reasoning alone after work", 3, []reply{adds, thinks}, "incomplete/only_reasoning", 2, 2, 1},
		{"a refusal", 3, []reply{refuses}, "incomplete/refusal", 1, 1, 0},
		{"a filtered reply", 3, []reply{adds, filtered}, "incomplete/refusal", 2, 2, 1},
		{"a prompt that moderation refuses", 3, []reply{fault(400, "content_policy_violation")}, "incomplete/refusal", 1, 0, 0},
		{"invalid calls three times", 9, []reply{invalid}, "partial/invalid_tool_calls", 3, 3, 6},
		{"unreadable arguments three times", 9, []reply{garbled}, "partial/invalid_tool_calls", 3, 3, 3},
		{"invalid calls of both kinds", 9, []reply{adds, garbled, invalid, garbled}, "partial/invalid_tool_calls", 4, 4, 5},
		{"invalid calls on the last turn", 3, []reply{invalid}, "partial/invalid_tool_calls", 3, 3, 6},
		{"invalid calls, but not in a row", 9, []reply{invalid, invalid, adds, invalid, garbled, answer}, answered, 6, 6, 8},
		{"a call without its arguments, repeated", 9, []reply{without}, "partial/invalid_tool_calls", 4, 4, 4},
		{"refused calls, repeated", 9, []reply{adds, wrongly}, "partial/invalid_tool_calls", 5, 5, 9},
		{"refused calls that are not the same", 9, []reply{without, without, without, wrongly, without, wrongly, answer}, answered, 7, 7, 8},
		{"a refused call, repeated among unreadable ones", 9, []reply{without, without, garbled, invalid}, "partial/invalid_tool_calls", 4, 4, 5},
		{"calls that fail, repeated", 6, []reply{fails}, "incomplete/max_turns", 6, 6, 12},
		{"one good call among invalid ones", 4, []reply{mixed}, "incomplete/max_turns", 4, 4, 8},
		{"a conversation that is too long", 3, []reply{adds, fault(400, "context_length_exceeded")}, "incomplete/context", 2, 1, 1},
		{"cut replies", 3, []reply{adds, cut}, "partial/cut_replies", 4, 1, 1},
		{"one cut reply", 3, []reply{cut, answer}, answered, 2, 1, 0},
		{"announced calls that never come", 3, []reply{lost}, "partial/cut_replies", 3, 0, 0},
		{"empty replies", 3, []reply{empty}, "failed/empty_reply/transient", 6, 0, 0},
		{"one empty reply", 3, []reply{empty, answer}, answered, 2, 1, 0},
		{"a bad request", 3, []reply{adds, fault(400, "bad")}, "failed/bad_request/permanent", 2, 1, 1},
		{"an unknown model", 3, []reply{fault(404, "model_not_found")}, "failed/model_not_found/permanent", 1, 0, 0},
		{"server errors", 3, []reply{adds, fault(500, "oops")}, "failed/server/transient", 7, 1, 1},
		{"a few server errors", 3, []reply{fault(500, "oops"), fault(503, "oops"), fault(529, "oops"), answer}, answered, 4, 1, 0},
		{"a proxy's page", 3, []reply{adds, page}, "failed/server/transient", 7, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := 0
			b := newBench(t, func(ask) (int, string) {
				asked++
				return c.replies[min(asked, len(c.replies))-1]()
			})
			b.prompts("a")
			b.mustRun(maxTurns(c.maxTurns))
			b.wantEnds(c.end)
			b.model.wantCount(c.requests)
			out := b.outcome(0)
			if out.APICalls != c.turns || out.AssistantTurns != c.turns {
				t.Errorf("%d turns, want %d", out.APICalls, c.turns)
			}
			if out.Tries != c.requests {
				t.Errorf("%d tries, want %d", out.Tries, c.requests)
			}
			if out.Attempts != 1 {
				t.Errorf("%d attempts", out.Attempts)
			}
			b.read(func(s *db.Store) {
				if got := len(records[*db.Result](t, s, 0)); got != c.calls {
					t.Errorf("%d results, want %d", got, c.calls)
				}
			})
			before := b.model.count()
			b.mustRun(resume, maxTurns(c.maxTurns), func(o *Options) { o.RetryFailed = "none" })
			b.model.wantCount(before)
		})
	}
}

// What was paid for is counted, also where nothing came of it.
func TestSpending(t *testing.T) {
	asked := 0
	b := newBench(t, func(ask) (int, string) {
		switch asked++; asked {
		case 1, 3:
			return 200, message(map[string]any{"role": "assistant", "content": ""}, "stop")
		case 2:
			return adds()
		}
		return says("done")
	})
	b.prompts("a")
	b.mustRun()
	out := b.outcome(0)
	if out.Usage.PromptTokens != 20 || out.Spent.PromptTokens != 40 || out.Spent.CompletionTokens != 20 {
		t.Errorf("usage %+v, spent %+v", out.Usage, out.Spent)
	}
	if out.Tries != 4 || out.APICalls != 2 || out.ReasonedTurns != 2 {
		t.Errorf("outcome %+v", out)
	}
	b.read(func(s *db.Store) {
		if got := kinds(t, s, 0); got != "attempt rejected turn result rejected turn" {
			t.Errorf("steps %q", got)
		}
	})
}

// A panic in one session is one failed prompt, with its stack in the log.
func TestPanicIsOneFailedPrompt(t *testing.T) {
	for _, c := range []struct {
		name  string
		calls []string
	}{
		{"alone", []string{"calculator", `{"expression":"1"}`, "bomb", "{}"}},
		{"beside others", []string{"bomb", "{}", "calculator", `{"expression":"1"}`, "bomb", "{}"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log logBuffer
			b := newBench(t, func(a ask) (int, string) {
				switch {
				case a.Turn > 0:
					return says("done")
				case a.Prompt == "a":
					return calls(c.calls...)
				}
				return adds()
			})
			b.deps.Log = log.logger()
			b.offer(probe{name: "bomb", readOnly: true, call: explode})
			b.prompts("a", "b", "c", "d")
			b.mustRun()
			b.wantEnds("failed/panic/permanent", answered, answered, answered)
			if !strings.Contains(log.String(), "explode") || !strings.Contains(log.String(), "boom") {
				t.Errorf("the log does not show the stack:\n%s", log.String())
			}
			out := b.outcome(0)
			if out.APICalls != 1 || out.Spent.PromptTokens != 10 || out.Tries != 1 || out.Attempts != 1 || len(out.Toolsets) == 0 {
				t.Errorf("outcome %+v", out)
			}
			b.hook = nil
			before := b.model.count()
			b.mustRun(resume, func(o *Options) { o.RetryFailed = "transient" })
			b.model.wantCount(before)
		})
	}
}

func explode(context.Context, *tools.Call) (tools.Result, error) { panic("boom") }

// A tool that breaks is no training sample, and no end of the run.
func TestBrokenTool(t *testing.T) {
	for _, c := range []struct {
		name  string
		calls []string
	}{
		{"alone", []string{"broken", "{}"}},
		{"beside others", []string{"calculator", `{"expression":"1"}`, "broken", "{}"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			works := false
			b := newBench(t, func(a ask) (int, string) {
				if a.Prompt == "a" && a.Turn == 0 {
					return calls(c.calls...)
				}
				return says("done")
			})
			b.offer(probe{name: "broken", readOnly: true, call: func(context.Context, *tools.Call) (tools.Result, error) {
				if works {
					return fine("{}")
				}
				return tools.Result{}, errors.New("the machine is on fire")
			}})
			b.prompts("a", "b")
			b.mustRun()
			b.wantEnds("failed/infrastructure/transient", answered)
			if out := b.outcome(0); !strings.Contains(out.Message, "on fire") {
				t.Errorf("message %q", out.Message)
			}
			works = true
			b.mustRun(resume)
			b.wantEnds(answered, answered)
			b.model.wantCount(3)
			b.model.wantOnce()
		})
	}
}

// A reply that was paid for is kept even if the sandbox that it needs cannot
// be made.
func TestReplyIsKeptWithoutSandbox(t *testing.T) {
	b := newBench(t, func(a ask) (int, string) {
		if a.Turn == 0 {
			os.RemoveAll("state")
			writeFile(t, "state", "a file where the folder of work folders belongs")
			return shell("echo x")
		}
		return says("done")
	})
	b.prompts("a")
	b.mustRun()
	b.wantEnds("failed/infrastructure/transient")
	if out := b.outcome(0); out.APICalls != 1 || out.Spent.PromptTokens != 10 {
		t.Errorf("outcome %+v", out)
	}
	b.mustRun(resume, func(o *Options) { o.WorkDir = "elsewhere" })
	b.wantEnds(answered)
	b.model.wantOnce()
}

// A row that asks for an image never runs on this machine, and costs nothing.
func TestImageRow(t *testing.T) {
	b := newBench(t, echoes)
	b.dataset(`{"prompt":"a","image":"debian:12"}`, `{"prompt":"b"}`, `{"prompt":"c","docker_image":"x"}`)
	b.mustRun()
	b.wantEnds("failed/image/permanent", answered, "failed/image/permanent")
	if out := b.outcome(0); !strings.Contains(out.Message, "debian:12") || out.Tries != 0 {
		t.Errorf("outcome %+v", out)
	}
	b.model.wantCount(1)
}
