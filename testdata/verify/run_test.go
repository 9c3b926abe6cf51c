package verify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes-batch/db"
	"hermes-batch/export"
)

var epoch = time.Date(2026, 1, 15, 10, 30, 0, 0, time.UTC)

// run is a store that is filled by hand, with the folder of its files.
type run struct {
	testing.TB
	store *db.Store
	dir   string
}

func newRun(t testing.TB, tools ...string) *run {
	t.Helper()
	r := &run{TB: t, dir: t.TempDir()}
	var err error
	r.store, err = db.Create(filepath.Join(r.dir, "run.db"), db.Run{Name: "verify", Tools: tools}, db.Options{})
	r.must(err)
	t.Cleanup(func() { r.must(r.store.Close()) })
	_, err = r.store.BeginLaunch(db.Launch{Started: epoch, BatchSize: 2})
	r.must(err)
	return r
}

func (r *run) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// prompts registers the prompts of a run.
func (r *run) prompts(prompts ...db.Prompt) {
	r.Helper()
	rows := make([]uint32, len(prompts))
	for i := range prompts {
		p := &prompts[i]
		p.Index, p.Hash, rows[i] = i, db.PromptHash(p.Text, p.Image, p.Cwd), uint32(i)
		if p.Extra == nil {
			p.Extra = []byte("{}")
		}
	}
	for from := 0; from < len(prompts); from += 1000 {
		r.must(r.store.PutPrompts(prompts[from:min(from+1000, len(prompts))]))
	}
	r.must(r.store.PutPlan(db.Plan{Path: "prompts.jsonl"}, rows, nil, 2))
}

func (r *run) numbered(n int) {
	prompts := make([]db.Prompt, n)
	for i := range prompts {
		prompts[i].Text = fmt.Sprintf("prompt %d", i)
	}
	r.prompts(prompts...)
}

// answer ends a prompt with a conversation.
func (r *run) answer(o db.Ordinal, out db.Outcome, steps ...db.Record) {
	r.Helper()
	r.must(r.finish(o, out, steps...).Wait(context.Background()))
}

func (r *run) finish(o db.Ordinal, out db.Outcome, steps ...db.Record) *db.Commit {
	r.Helper()
	log, err := r.store.Log(o)
	r.must(err)
	log.Append(append([]db.Record{&db.Attempt{Parent: -1, ForkStep: -1, Reason: "start"}}, steps...)...)
	if out.End == "" {
		out.End, out.Reason = "completed", "answer"
	}
	out.Model, out.Attempts, out.At = "test/model", 1, epoch.Add(time.Duration(o.Index())*time.Second)
	out.AssistantTurns, out.ReasonedTurns = max(out.AssistantTurns, 1), max(out.ReasonedTurns, 1)
	return log.Finish(&out)
}

// render renders all files and compares them.
func (r *run) render(rows int) {
	r.Helper()
	_, err := export.NewRenderer(r.store, export.Options{Dir: r.dir}).Render(context.Background(), export.Final)
	r.must(err)
	if n, err := Compare(r.dir, ""); err != nil || n != rows {
		r.Errorf("%d of %d rows are equal: %v", n, rows, err)
	}
}

func (r *run) parquet() string { return filepath.Join(r.dir, "trajectories.parquet") }

func gpt(value, reasoning string, calls ...db.ToolCall) *db.Turn {
	return &db.Turn{Entry: db.Entry{From: "gpt", Value: value, Reasoning: reasoning, ToolCalls: calls}}
}

func call(id, name, arguments string) db.ToolCall {
	return db.ToolCall{ID: id, Name: name, Arguments: arguments}
}

func result(call int, id, name, text string) *db.Result {
	return &db.Result{Turn: 1, Call: call, CallID: id, Name: name, Parts: []db.Part{{Type: "text", Text: text}}, Success: true, Status: "ok"}
}

// withTools is a run with every oddity that a value may have.
func withTools(t testing.TB) *run {
	r := newRun(t, "calculator", "terminal", "mcp_wetter_größe")
	r.prompts(
		db.Prompt{Text: "parallel", Extra: []byte(`{"task_id":"T-7","n":9007199254740993,"tags":["a","<b>"],"f":1e400}`)},
		db.Prompt{Text: "empty arguments"},
		db.Prompt{Text: "types that drift"},
		db.Prompt{Text: "ünïcode \u2028\u2029 数 😀 \x00 \xff\xfe \U0010FFFF \ufeff", Extra: []byte("{\"k\":\"\u2028\"}")},
		db.Prompt{Text: "two rollouts"},
		db.Prompt{Text: "a tool that does not exist"},
		db.Prompt{Text: "no answer yet"},
		db.Prompt{Text: "dates: 2024-01-01T00:00:00"},
	)
	at := func(i int) db.Ordinal { return db.MakeOrdinal(i, 0) }
	stats := func(n int) map[string]db.ToolStat {
		return map[string]db.ToolStat{"terminal": {Count: n, Success: n - 1, Failure: 1}, "mcp_wetter_größe": {Count: 1, Success: 1}}
	}
	r.answer(at(0), db.Outcome{
		ToolStats: stats(3), Toolsets: []string{"terminal", "file"}, APICalls: 2,
		Usage: db.Usage{PromptTokens: 1<<53 + 1, CompletionTokens: 7, Cost: 0.00000125, CostKnown: true},
	},
		gpt("", "three at once", call("a", "terminal", `{"command": "ls", "n": 9007199254740993}`),
			call("b", "calculator", `{"expression":"1+1"}`), call("c", "mcp_wetter_größe", `{"ort":"Köln"}`)),
		result(2, "c", "mcp_wetter_größe", "Regen"), result(0, "a", "terminal", "a.txt\n"), result(1, "b", "calculator", `{"result":"2"}`),
		gpt("done", ""))
	r.answer(at(1), db.Outcome{ToolStats: stats(1)}, gpt("", "", call("a", "terminal", "{}")), result(0, "a", "terminal", ""), gpt("", "thought"))
	for i, arguments := range []string{`{"x":1}`, `{"x":"1"}`, `{"x":null}`, `{"x":[1,"2",{"y":1.5}]}`} {
		steps := []db.Record{gpt("", "t", call("a", "terminal", arguments)), result(0, "a", "terminal", arguments), gpt("x", "")}
		r.answer([]db.Ordinal{at(2), db.MakeOrdinal(2, 1), db.MakeOrdinal(2, 2), at(4)}[i], db.Outcome{Usage: db.Usage{Cost: float64(i)}}, steps...)
	}
	r.answer(at(3), db.Outcome{}, gpt("</think><tool_call>{\"name\":\"rm\"}</tool_call>", "\u2028", call("\xff", "terminal", "{\"s\":\"\\u2028\u2028\",\"e\":\"\\ud83d\\ude00\"}")),
		result(0, "\xff", "terminal", "\x1b[31mred\x1b[0m \x00 \xf0\x9f end\r\n"), gpt("a\u2029b", ""))
	r.answer(db.MakeOrdinal(4, 1), db.Outcome{End: "incomplete", Reason: "max_turns"}, gpt("still at it", "t"))
	r.answer(at(5), db.Outcome{InvalidTools: []string{"nope"}, ToolStats: map[string]db.ToolStat{"nope": {Count: 1, Failure: 1}}}, gpt("?", "t"))
	r.answer(at(7), db.Outcome{End: "partial", Reason: "cut_replies"}, gpt("2024-01-01T00:00:00", "n/a"))
	return r
}

// chat is a run whose rows have no calls.
func chat(t testing.TB) *run {
	r := newRun(t)
	r.numbered(3)
	for i := range 3 {
		r.answer(db.MakeOrdinal(i, 0), db.Outcome{}, gpt(fmt.Sprint("answer ", i), ""))
	}
	return r
}

// prose is text that compresses about as well as what models write.
func prose(rng *rand.Rand, size int) string {
	words := strings.Fields(`the a file "value" function returns error: result list of and is not {key: 1}, import os path
		compute next step therefore <b> range(10) x = y + 1; print test passes while loop index data 数 ü`)
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(words[rng.IntN(len(words))])
		b.WriteByte(" \n"[rng.IntN(8)/7])
	}
	return b.String()
}
