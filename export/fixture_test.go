package export

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes-batch/db"
)

// epoch is when everything in fixtures begins.
var epoch = time.Date(2026, 1, 15, 10, 30, 0, 0, time.UTC)

var builtin = []string{"calculator", "read_file", "terminal", "write_file"}

// fixture is a real store with a folder for its files.
type fixture struct {
	testing.TB
	store    *db.Store
	dir      string
	settings db.Hash
	launch   int
	clock    int // seconds after epoch of the last outcome
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	dir := t.TempDir()
	store, err := db.Create(filepath.Join(dir, "run.db"), db.Run{Name: "golden", Tools: builtin},
		db.Options{Now: func() time.Time { return epoch }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	f := &fixture{TB: t, store: store, dir: dir}
	f.settings, err = store.PutSettings([]byte(`{"max_turns":10}`))
	f.must(err)
	f.begin()
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// begin starts another launch of the program.
func (f *fixture) begin() {
	f.Helper()
	var err error
	f.launch, err = f.store.BeginLaunch(db.Launch{
		Started: epoch.Add(time.Duration(f.clock) * time.Second), Settings: f.settings, BatchSize: 2,
		Flags: map[string]string{"distribution": "local", "model": "simulated", "batch_size": "2"},
	})
	f.must(err)
}

// register adds prompts, and makes all that are registered the plan.
func (f *fixture) register(batchSize int, bad []db.BadLine, prompts ...db.Prompt) {
	f.Helper()
	next, err := f.store.NextIndex()
	f.must(err)
	for i := range prompts {
		p := &prompts[i]
		p.Index = next + i
		p.Hash = db.PromptHash(p.Text, p.Image, p.Cwd)
		if p.Extra == nil {
			p.Extra = []byte("{}")
		}
	}
	for part := prompts; len(part) > 0; {
		n := min(len(part), 5000)
		f.must(f.store.PutPrompts(part[:n]))
		part = part[n:]
	}
	rows := make([]uint32, next+len(prompts))
	for i := range rows {
		rows[i] = uint32(i)
	}
	f.plan(batchSize, bad, rows)
}

func (f *fixture) plan(batchSize int, bad []db.BadLine, rows []uint32) {
	f.Helper()
	f.must(f.store.PutPlan(db.Plan{Path: "prompts.jsonl", Dataset: db.HashParts("test", fmt.Append(nil, rows))}, rows, bad, batchSize))
}

func numbered(n int) []db.Prompt {
	prompts := make([]db.Prompt, n)
	for i := range prompts {
		prompts[i].Text = fmt.Sprintf("prompt %d", i)
	}
	return prompts
}

// ended is an outcome of the usual kind.
func ended(end, reason string) *db.Outcome {
	return &db.Outcome{
		End: end, Reason: reason, Model: "simulated", AssistantTurns: 1, ReasonedTurns: 1, APICalls: 1,
		Toolsets: []string{"terminal", "file"}, Attempts: 1, Tries: 1, Isolation: "none",
		Usage: db.Usage{PromptTokens: 100, CompletionTokens: 20}, Spent: db.Usage{PromptTokens: 100, CompletionTokens: 20},
		Wall: 3 * time.Second, ModelTime: 2 * time.Second, ToolTime: 500 * time.Millisecond,
	}
}

func completed() *db.Outcome { return ended("completed", "answer") }

func failed(class, reason string) *db.Outcome {
	out := ended("failed", reason)
	out.Class, out.Message = class, "the endpoint said: "+reason
	out.AssistantTurns, out.ReasonedTurns, out.APICalls = 0, 0, 0
	out.Usage, out.Tries = db.Usage{}, 6
	return out
}

func gpt(value, reasoning string, calls ...db.ToolCall) *db.Turn {
	return &db.Turn{Entry: db.Entry{From: "gpt", Value: value, Reasoning: reasoning, ToolCalls: calls}, Raw: []byte("RAW REPLY")}
}

func result(call int, id, name, text string) *db.Result {
	return &db.Result{Turn: 1, Call: call, CallID: id, Name: name, Parts: []db.Part{{Type: "text", Text: text}}, Success: true, Status: "ok"}
}

// begun is the record that a session starts with.
func begun() *db.Attempt { return &db.Attempt{Parent: -1, ForkStep: -1, Reason: "start"} }

// session appends records to a session and, with an outcome, ends it.
func (f *fixture) session(o db.Ordinal, out *db.Outcome, recs ...db.Record) {
	f.Helper()
	log, err := f.store.Log(o)
	f.must(err)
	commit := log.Append()
	for _, rec := range recs {
		commit = log.Append(rec)
	}
	if out != nil {
		f.clock++
		out.At, out.Launch, out.Settings = epoch.Add(time.Duration(f.clock)*time.Second), f.launch, f.settings
		commit = log.Finish(out)
	}
	f.must(commit.Wait(context.Background()))
}

// answer ends a prompt with one turn.
func (f *fixture) answer(index int, out *db.Outcome) {
	f.Helper()
	f.session(db.MakeOrdinal(index, 0), out, begun(), gpt("an answer", "some thought"))
}

func (f *fixture) renderer(opts Options) *Renderer {
	if opts.Dir == "" {
		opts.Dir = f.dir
	}
	r := NewRenderer(f.store, opts)
	f.Cleanup(r.Close)
	return r
}

func (f *fixture) render(r *Renderer, mode Mode) *Report {
	f.Helper()
	rep, err := r.Render(context.Background(), mode)
	f.must(err)
	c := rep.Counts
	if sum := c.Kept + c.Filtered + c.Discarded + c.Failed + c.Pending; sum != c.Total {
		f.Errorf("counts do not add up: %+v", c)
	}
	return rep
}

// files are the output files in a folder, by name.
func (f *fixture) files(dir string) map[string]string {
	f.Helper()
	entries, err := os.ReadDir(dir)
	f.must(err)
	files := map[string]string{}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "run.") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		f.must(err)
		files[e.Name()] = string(data)
	}
	return files
}

// indices are the prompt indices of the rows of a file.
func indices(t testing.TB, file string) []int {
	t.Helper()
	var all []int
	for line := range strings.Lines(file) {
		var row struct {
			Index *int `json:"prompt_index"`
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil || row.Index == nil {
			t.Fatalf("line %q: %v", line, err)
		}
		all = append(all, *row.Index)
	}
	return all
}

// counted are the counts in a JSON file.
func counted(t testing.TB, data string) (c Counts) {
	t.Helper()
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		t.Fatal(err)
	}
	return c
}
