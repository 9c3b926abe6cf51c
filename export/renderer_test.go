package export

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes-batch/db"
)

// names are the base names of the report's files in a state.
func names(rep *Report, state State) []string {
	var all []string
	for _, f := range rep.In(state) {
		all = append(all, filepath.Base(f.Path))
	}
	return all
}

func wantNames(t testing.TB, rep *Report, state State, want ...string) {
	t.Helper()
	if got := names(rep, state); !slices.Equal(got, want) {
		t.Errorf("%s %q, want %q", state, got, want)
	}
}

func TestBackgroundRendersFinishedBatchesOnce(t *testing.T) {
	f := newFixture(t)
	f.register(2, nil, numbered(6)...)
	r := f.renderer(Options{})
	f.answer(0, completed())
	wantNames(t, f.render(r, Background), Written, "checkpoint.json", "errors.jsonl")
	f.answer(1, failed("transient", "server"))
	f.answer(5, completed())
	wantNames(t, f.render(r, Background), Written, "batch_0.jsonl", "checkpoint.json", "errors.jsonl")
	f.answer(4, completed())
	f.answer(2, completed())
	wantNames(t, f.render(r, Background), Written, "batch_2.jsonl", "checkpoint.json")

	if rep := f.render(r, Background); len(rep.Files) != 2 || len(rep.In(Unchanged)) != 2 {
		t.Errorf("nothing new, but %v", rep.Files)
	}
	f.session(db.MakeOrdinal(1, 0), completed(), &db.Retry{Reason: "server"}, gpt("at last", "t"))
	rep := f.render(r, Background)
	wantNames(t, rep, Written, "batch_0.jsonl", "checkpoint.json", "errors.jsonl")
	if want := (Counts{Total: 6, Kept: 5, Pending: 1, Completed: 5}); rep.Counts != want {
		t.Errorf("counts %+v, want %+v", rep.Counts, want)
	}
	if _, ok := f.files(f.dir)["trajectories.jsonl"]; ok {
		t.Error("the merged file was rendered in the background")
	}
}

func TestResumeRendersOnlyWhatIsOutdated(t *testing.T) {
	f := newFixture(t)
	f.register(2, nil, numbered(8)...)
	for i := range 6 {
		f.answer(i, completed())
	}
	f.render(f.renderer(Options{}), Final)
	want := f.files(f.dir)
	stale := filepath.Join(f.dir, "batch_1.jsonl")
	f.must(os.WriteFile(stale, []byte("old\n"), 0o644))
	f.must(os.Chtimes(stale, epoch, epoch)) // older than its outcomes
	f.must(os.Remove(filepath.Join(f.dir, "batch_2.jsonl")))
	wantNames(t, f.render(f.renderer(Options{}), Background), Written, "batch_1.jsonl", "batch_2.jsonl")
	for name, data := range f.files(f.dir) {
		if data != want[name] {
			t.Errorf("%s differs", name)
		}
	}
}

func TestStopLeavesOutTheLargest(t *testing.T) {
	f := newFixture(t)
	f.register(2, nil, numbered(5)...)
	for i := range 3 {
		f.answer(i, completed())
	}
	old := filepath.Join(f.dir, "trajectories.jsonl")
	f.must(os.WriteFile(old, []byte("of before\n"), 0o644))
	rep := f.render(f.renderer(Options{Budget: time.Nanosecond}), Stop)
	wantNames(t, rep, LeftOut, "trajectories.jsonl", "trajectories.parquet")
	wantNames(t, rep, Written, "batch_0.jsonl", "batch_1.jsonl", "checkpoint.json", "errors.jsonl", "statistics.json")
	if data, err := os.ReadFile(old); string(data) != "of before\n" {
		t.Errorf("trajectories.jsonl: %q, %v", data, err)
	}
	if rep.Statistics == nil || rep.Statistics.Pending != 2 {
		t.Errorf("statistics %+v", rep.Statistics)
	}
	var text strings.Builder
	f.must(Summary(&text, rep))
	if !strings.Contains(text.String(), "left out") {
		t.Errorf("summary does not name what was left out:\n%s", &text)
	}
	wantNames(t, f.render(f.renderer(Options{}), Stop), Written, "trajectories.jsonl", "trajectories.parquet")
}

// outcomes of every kind, at random.
func randomOutcome(rng *rand.Rand) *db.Outcome {
	out := []*db.Outcome{completed(), completed(), ended("incomplete", "max_turns"), ended("partial", "cut_replies"),
		failed("transient", "server"), failed("permanent", "bad_request")}[rng.IntN(6)]
	if rng.IntN(3) == 0 {
		out.ReasonedTurns = 0
	}
	if rng.IntN(3) == 0 {
		out.InvalidTools = []string{"nope"}
		out.ToolStats = map[string]db.ToolStat{db.InvalidTool: {Count: 1, Failure: 1}}
	}
	return out
}

func TestCountsAddUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 12 {
		f := newFixture(t)
		f.register(1+rng.IntN(4), nil, numbered(5+rng.IntN(30))...)
		r := f.renderer(Options{Filters: Filters{KeepWithoutReasoning: rng.IntN(2) == 0, KeepInvalidTools: rng.IntN(2) == 0}})
		for range 3 { // sessions of the program, with a plan each
			size, err := f.store.NextIndex()
			f.must(err)
			var plan []uint32
			for i := range size {
				if rng.IntN(4) > 0 {
					plan = append(plan, uint32(i))
				}
			}
			f.plan(2, nil, plan)
			for range size / 2 {
				o := db.MakeOrdinal(rng.IntN(size), 0)
				if old, found, err := f.store.Outcome(o); err != nil || found && old.End != "failed" {
					f.must(err)
					continue
				}
				f.session(o, randomOutcome(rng), begun(), gpt("x", "t"))
			}
			checkCounts(f, r, plan, round)
		}
	}
}

// checkCounts compares what three ways of counting and the files say.
func checkCounts(f *fixture, r *Renderer, plan []uint32, round int) {
	f.Helper()
	back, final := f.render(r, Background), f.render(r, Final)
	progress, err := Progress(f.store, r.opts.Effective())
	f.must(err)
	if back.Counts != final.Counts || progress != final.Counts {
		f.Errorf("round %d: background %+v, final %+v, progress %+v", round, back.Counts, final.Counts, progress)
	}
	outside := 0
	f.must(f.store.OutcomeHeads(0, func(h db.OutcomeHead) bool {
		if h.End != "failed" && !slices.Contains(plan, uint32(h.Ordinal.Index())) {
			outside++
		}
		return true
	}))
	c := final.Counts
	if c.Total != len(plan)+outside || c.Completed+c.Incomplete+c.Partial != c.Finished() {
		f.Errorf("round %d: %+v for a plan of %d and %d outside of it", round, c, len(plan), outside)
	}
	files := f.files(f.dir)
	rows, failures := 0, strings.Count(files["errors.jsonl"], "\n")
	for name, data := range files {
		if strings.HasPrefix(name, "batch_") {
			rows += strings.Count(data, "\n")
		}
	}
	var check struct {
		Completed []int `json:"completed_prompts"`
		Counts
	}
	f.must(json.Unmarshal([]byte(files["checkpoint.json"]), &check))
	if merged := len(indices(f, files["trajectories.jsonl"])); merged != c.Kept || rows != c.Kept+c.Filtered || failures != c.Failed ||
		len(check.Completed) != c.Finished() || check.Total != c.Total || check.Pending != c.Pending {
		f.Errorf("round %d: %d merged rows, %d batch rows, %d failures, checkpoint %+v for %+v", round, merged, rows, failures, check, c)
	}
	if !slices.IsSorted(check.Completed) {
		f.Errorf("completed prompts %v", check.Completed)
	}
}

func TestRolloutsOfAPrompt(t *testing.T) {
	f := newFixture(t)
	f.register(2, nil, numbered(3)...)
	for _, o := range []db.Ordinal{db.MakeOrdinal(0, 0), db.MakeOrdinal(0, 1), db.MakeOrdinal(1, 0), db.MakeOrdinal(2, 0)} {
		f.session(o, completed(), begun(), gpt("x", "t"))
	}
	f.session(db.MakeOrdinal(1, 1), failed("transient", "server"), begun())
	rep := f.render(f.renderer(Options{}), Final)
	if want := (Counts{Total: 5, Kept: 4, Failed: 1, Completed: 4}); rep.Counts != want {
		t.Errorf("counts %+v, want %+v", rep.Counts, want)
	}
	files := f.files(f.dir)
	if rows := indices(t, files["batch_0.jsonl"]); !slices.Equal(rows, []int{0, 0, 1}) {
		t.Errorf("rows %v", rows)
	}
	if !strings.Contains(files["checkpoint.json"], `"completed_prompts": [0,2]`) {
		t.Errorf("checkpoint %s", files["checkpoint.json"])
	}
}

func TestRetriedSessionKeepsItsRow(t *testing.T) {
	f := newFixture(t)
	f.register(1, nil, numbered(2)...)
	f.session(0, ended("incomplete", "max_turns"), begun(), gpt("first", "t"))
	f.render(f.renderer(Options{}), Final)
	want := f.files(f.dir)["batch_0.jsonl"]
	// The prompt is tried again, and that is interrupted.
	f.session(0, nil, &db.Retry{Reason: "max_turns"}, gpt("BEYOND", "t"))
	f.render(f.renderer(Options{}), Final)
	if got := f.files(f.dir)["batch_0.jsonl"]; got != want {
		t.Errorf("row became %s", got)
	}
	// It even loses its sandbox and leaves the outcome's steps behind.
	f.session(0, nil, &db.Attempt{Parent: 0, ForkStep: 0, Reason: "sandbox_lost"}, gpt("ANEW", "t"))
	f.render(f.renderer(Options{}), Final)
	if got := f.files(f.dir)["batch_0.jsonl"]; got != want {
		t.Errorf("row became %s", got)
	}
	f.session(0, completed(), gpt("answer", "t"))
	f.render(f.renderer(Options{}), Final)
	if got := f.files(f.dir)["batch_0.jsonl"]; !strings.Contains(got, "ANEW") || strings.Contains(got, "BEYOND") {
		t.Errorf("row is %s", got)
	}
}

func TestMoreToolsRenderBatchesAgain(t *testing.T) {
	f := newFixture(t)
	f.register(1, nil, numbered(3)...)
	r := f.renderer(Options{})
	f.answer(0, completed())
	f.render(r, Background)
	f.must(f.store.AddTools([]string{"mcp_weather", "invalid_tool"}))
	f.answer(1, completed())
	wantNames(t, f.render(r, Background), Written, "batch_0.jsonl", "batch_1.jsonl", "checkpoint.json")
	files := f.files(f.dir)
	checkShapes(t, "batches", files["batch_0.jsonl"]+files["batch_1.jsonl"], ".conversations[]")
	if !strings.Contains(files["batch_0.jsonl"], `"mcp_weather":{"count":0,"success":0,"failure":0},"invalid_tool":{`) {
		t.Errorf("row %s", files["batch_0.jsonl"])
	}
}

func TestReadOnlyStore(t *testing.T) {
	f := everything(t)
	f.must(f.store.Close())
	store, err := db.Open(filepath.Join(f.dir, "run.db"), db.Options{ReadOnly: true})
	f.must(err)
	defer store.Close()
	out := t.TempDir()
	rep, err := NewRenderer(store, Options{Dir: out}).Render(context.Background(), Final)
	f.must(err)
	if len(rep.In(Written)) != 10 || len(f.files(out)) != 10 {
		t.Errorf("files %v", rep.Files)
	}
}

func TestRenderingWhileARunWrites(t *testing.T) {
	const n = 200
	f := newFixture(t)
	f.register(5, nil, numbered(n)...)
	dir := t.TempDir()
	r := f.renderer(Options{Output: filepath.Join(dir, "out.jsonl")})
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := w; i < n; i += 4 {
				log, err := f.store.Log(db.MakeOrdinal(i, 0))
				if err != nil {
					t.Error(err)
					return
				}
				log.Append(begun(), gpt("x", "t"))
				out := completed()
				out.At = epoch.Add(time.Duration(i) * time.Second)
				if err := log.Finish(out).Wait(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		f.render(r, Background)
		checkShapes(t, "out.jsonl", f.files(dir)["out.jsonl"], ".conversations[]")
	}
	wantNames(t, f.render(r, Final), Written, "statistics.json", "trajectories.parquet")
	if rows := indices(t, f.files(dir)["out.jsonl"]); len(rows) != n || !slices.IsSorted(rows) {
		t.Errorf("rows %v", rows)
	}
}
