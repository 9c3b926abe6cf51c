package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes-batch/db"
)

// planBench plans datasets over one store, without any work.
type planBench struct {
	t     *testing.T
	store *db.Store
	file  string
}

func newPlanBench(t *testing.T) *planBench {
	dir := t.TempDir()
	store, err := db.Create(filepath.Join(dir, "run.db"), db.Run{Name: "r"}, db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		checkStore(t, store)
		store.Close()
	})
	return &planBench{t, store, filepath.Join(dir, "data.jsonl")}
}

// plan makes the plan of a dataset and returns it.
func (b *planBench) plan(lines []string, change ...func(*Options)) []uint32 {
	b.t.Helper()
	writeFile(b.t, b.file, strings.Join(lines, "\n"))
	o := testOptions()
	o.DatasetFile = b.file
	for _, c := range change {
		c(o)
	}
	f, err := openDataset(b.file)
	if err != nil {
		b.t.Fatal(err)
	}
	defer f.Close()
	s, err := scanDataset(b.t.Context(), f, o.MaxSamples)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := makePlan(b.t.Context(), b.store, f, s, o); err != nil {
		b.t.Fatal(err)
	}
	return b.rows()
}

func (b *planBench) rows() (rows []uint32) {
	b.t.Helper()
	page := make([]uint32, 7)
	for {
		n, err := b.store.PlanRows(len(rows), page)
		if err != nil {
			b.t.Fatal(err)
		}
		if n == 0 {
			return rows
		}
		rows = append(rows, page[:n]...)
	}
}

// advance gives a prompt some steps, and an outcome if end is not empty.
func (b *planBench) advance(index, steps int, end string) {
	b.t.Helper()
	log, err := b.store.Log(db.MakeOrdinal(index, 0))
	if err != nil {
		b.t.Fatal(err)
	}
	log.Append(&db.Attempt{Parent: -1, ForkStep: -1})
	for range steps {
		log.Append(&db.Turn{Entry: db.Entry{From: "gpt", Value: "x"}})
	}
	if end != "" {
		log.Finish(&db.Outcome{End: end, Reason: "x", At: time.Now()})
	}
	if err := log.Append(&db.Turn{}).Wait(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func plain(texts string) (lines []string) {
	for _, r := range texts {
		lines = append(lines, fmt.Sprintf(`{"prompt":"%c"}`, r))
	}
	return lines
}

// keyed are rows of equal prompts with other keys of their own.
func keyed(keys string) (lines []string) {
	for _, r := range keys {
		lines = append(lines, fmt.Sprintf(`{"prompt":"p","k":"%c"}`, r))
	}
	return lines
}

func TestPlanMatchesByContent(t *testing.T) {
	finished := func(index int) func(*planBench) {
		return func(b *planBench) { b.advance(index, 1, "completed") }
	}
	failed := func(index int) func(*planBench) {
		return func(b *planBench) { b.advance(index, 9, "failed") }
	}
	begun := func(index, steps int) func(*planBench) {
		return func(b *planBench) { b.advance(index, steps, "") }
	}
	for _, c := range []struct {
		name          string
		first         []string
		then          []func(*planBench)
		second        []string
		want          string // indices of the second plan
		registered    int
		extra         string // "index extra" after the second plan
		secondChanges []func(*Options)
	}{
		{name: "the same", first: plain("abc"), second: plain("abc"), want: "[0 1 2]", registered: 3},
		{name: "other order", first: plain("abc"), second: plain("cab"), want: "[2 0 1]", registered: 3},
		{name: "inserted at the top", first: plain("abc"), second: plain("xabc"), want: "[3 0 1 2]", registered: 4},
		{name: "shorter", first: plain("abc"), second: plain("c"), want: "[2]", registered: 3},
		{name: "shorter by max_samples", first: plain("abc"), second: plain("abc"), want: "[0]", registered: 3,
			secondChanges: []func(*Options){func(o *Options) { o.MaxSamples = 1 }}},
		{name: "nothing in common", first: plain("ab"), second: plain("cd"), want: "[2 3]", registered: 4},
		{name: "one more copy", first: plain("aba"), second: plain("aaba"), want: "[0 2 1 3]", registered: 4},
		{name: "one copy less takes the finished one", first: plain("aaa"), then: []func(*planBench){finished(1)}, second: plain("a"), want: "[1]", registered: 3},
		{name: "n finished copies satisfy n rows", first: plain("aaaa"), then: []func(*planBench){finished(3), finished(1)}, second: plain("aa"), want: "[1 3]", registered: 4},
		{name: "a failed one counts by its steps", first: plain("aaa"), then: []func(*planBench){failed(2), begun(1, 20)}, second: plain("aa"), want: "[1 2]", registered: 3},
		{name: "the most advanced before the rest", first: plain("aaa"), then: []func(*planBench){begun(2, 3), begun(1, 1)}, second: plain("aa"), want: "[2 1]", registered: 3},
		{name: "equal keys before progress", first: keyed("12"), then: []func(*planBench){finished(1)}, second: keyed("1"), want: "[0]", registered: 2},
		{name: "other keys take the most advanced", first: keyed("12"), then: []func(*planBench){finished(1)}, second: keyed("3"), want: "[1]", registered: 2, extra: `1 {"k": "3"}`},
		{name: "equal keys first, though later in the file", first: keyed("12"), then: []func(*planBench){finished(0)}, second: keyed("31"), want: "[1 0]", registered: 2, extra: `1 {"k": "3"}`},
		{name: "keys swap their order", first: keyed("123"), second: keyed("321"), want: "[2 1 0]", registered: 3, extra: `2 {"k": "3"}`},
		{name: "of equal keys the most advanced", first: keyed("111"), then: []func(*planBench){begun(0, 1), finished(2)}, second: keyed("11"), want: "[2 0]", registered: 3},
		{name: "new keys on a new copy", first: keyed("1"), second: keyed("12"), want: "[0 1]", registered: 2, extra: `1 {"k": "2"}`},
		{name: "image and cwd belong to the content", first: []string{`{"prompt":"a"}`, `{"prompt":"a","image":"i"}`, `{"prompt":"a","cwd":"c"}`},
			second: []string{`{"prompt":"a","cwd":"c"}`, `{"prompt":"a","docker_image":"i"}`, `{"prompt":"a","image":"c"}`}, want: "[2 1 3]", registered: 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newPlanBench(t)
			b.plan(c.first)
			for _, then := range c.then {
				then(b)
			}
			if got := fmt.Sprint(b.plan(c.second, c.secondChanges...)); got != c.want {
				t.Errorf("plan %s, want %s", got, c.want)
			}
			if n, err := b.store.NextIndex(); err != nil || n != c.registered {
				t.Errorf("%d prompts, want %d (%v)", n, c.registered, err)
			}
			if index, extra, ok := strings.Cut(c.extra, " "); ok {
				p, err := b.store.Prompt(int(index[0] - '0'))
				if err != nil || string(p.Extra) != extra {
					t.Errorf("prompt %s has %s, want %s (%v)", index, p.Extra, extra, err)
				}
			}
		})
	}
}

func (b *planBench) batches(n int) (batches []int) {
	for index := range n {
		batches = append(batches, b.store.BatchOf(index))
	}
	return batches
}

func batchSize(n int) func(*Options) { return func(o *Options) { o.BatchSize = n } }

func TestBatchNumbersStay(t *testing.T) {
	b := newPlanBench(t)
	b.plan(plain("abcde"))
	if got := fmt.Sprint(b.batches(5)); got != "[0 0 1 1 2]" {
		t.Fatalf("batches %s", got)
	}
	b.plan(plain("edcba"), batchSize(5))
	b.plan(plain("xya"), batchSize(3))
	b.plan(plain("z"), batchSize(2))
	if got := fmt.Sprint(b.batches(8)); got != "[0 0 1 1 2 3 3 4]" {
		t.Errorf("batches %s after more rows", got)
	}
}

// A program that died while it registered leaves prompts that no plan names.
// The next start numbers them as if that had not happened.
func TestPlanAfterCrashWhileRegistering(t *testing.T) {
	lines := plain("abdcae")
	undisturbed := newPlanBench(t)
	undisturbed.plan(plain("ab"))
	want := fmt.Sprint(undisturbed.plan(lines), undisturbed.batches(6))

	b := newPlanBench(t)
	b.plan(plain("ab"))
	var left []db.Prompt
	for i, text := range []string{"z", "e", "a"} {
		left = append(left, db.Prompt{Index: 2 + i, Copy: uint32(i / 2), Hash: db.PromptHash(text, "", ""), Text: text, Extra: []byte("{}")})
	}
	if err := b.store.PutPrompts(left); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(b.plan(lines), b.batches(6)); got != want {
		t.Errorf("plan and batches %s, want %s", got, want)
	}
	if _, err := b.store.Prompt(6); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("a prompt that no dataset has is left: %v", err)
	}
}

func TestDatasetChangesWhileItIsRead(t *testing.T) {
	for name, second := range map[string][]string{
		"longer": plain("abc"), "shorter": plain("a"), "another row": plain("ax"), "other keys": {`{"prompt":"a"}`, `{"prompt":"b","k":1}`},
		"only a blank": {`{"prompt":"a"}`, `{"prompt":"b"} `},
	} {
		t.Run(name, func(t *testing.T) {
			b := newPlanBench(t)
			b.plan(plain("ab"))
			f, err := os.Open(b.file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			s, err := scanDataset(t.Context(), f, 0)
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, b.file, strings.Join(second, "\n"))
			if err := makePlan(t.Context(), b.store, f, s, testOptions()); !errors.Is(err, errChanged) {
				t.Errorf("error %v", err)
			}
			if rows := b.rows(); !slices.Equal(rows, []uint32{0, 1}) {
				t.Errorf("the plan is %v now", rows)
			}
		})
	}
}

// countdown is a context that calls a function when its error was asked for n
// times: once for each line of a dataset.
type countdown struct {
	context.Context
	n    int
	then func()
}

func (c *countdown) Err() error {
	if c.n--; c.n == 0 {
		c.then()
	}
	return c.Context.Err()
}

// A start that fails while it plans sends nothing, ends its session in the
// store, and leaves a run that can be started again.
func TestStartFailsWhileItPlans(t *testing.T) {
	for _, fresh := range []bool{true, false} {
		t.Run(fmt.Sprint("fresh ", fresh), func(t *testing.T) {
			b := newBench(t, echoes)
			before := 0
			if !fresh {
				b.prompts("a")
				b.mustRun()
				before = 1
			}
			b.prompts("a", "b", "c")
			change := &countdown{t.Context(), 4 + 1, func() { b.prompts("a", "b", "x") }}
			if err := b.run(change, resume); !errors.Is(err, errChanged) {
				t.Errorf("error %v", err)
			}
			b.model.wantCount(before)
			b.read(func(s *db.Store) {
				if last, _, err := s.LastLaunch(); err != nil || !strings.HasPrefix(last.End, "stopped: the dataset changed") {
					t.Errorf("the session ended as %q (%v)", last.End, err)
				}
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			interrupt := &countdown{ctx, 4 + 1, cancel}
			if err := b.run(interrupt, resume); !errors.Is(err, ErrInterrupted) {
				t.Errorf("error %v", err)
			}
			b.model.wantCount(before)
			b.mustRun(resume)
			b.wantEnds(answered, answered, answered)
			b.model.wantCount(3)
			if got := fmt.Sprint(b.model.seen(0)); got != "[a b x]" {
				t.Errorf("ran %s", got)
			}
		})
	}
}

func TestPlanOfIdenticalRows(t *testing.T) {
	n := uint32(100_000)
	if underRace {
		n /= 10
	}
	b := newPlanBench(t)
	began := time.Now()
	lines := slices.Repeat([]string{`{"prompt":"same"}`}, int(n))
	if rows := b.plan(lines); len(rows) != len(lines) || rows[n-1] != n-1 {
		t.Errorf("%d rows", len(rows))
	}
	if rows := b.plan(append(plain("x"), lines...)); len(rows) != len(lines)+1 || rows[0] != n || rows[1] != 0 {
		t.Errorf("%d rows, %v", len(rows), rows[:2])
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestInsertedRowsAloneRun(t *testing.T) {
	b := newBench(t, echoes)
	b.prompts("a", "b", "c")
	b.mustRun(func(o *Options) { o.MaxSamples = 2 })
	b.prompts("x", "a", "b", "c")
	before := b.model.count()
	b.mustRun(resume)
	if got := fmt.Sprint(b.model.seen(before)); got != "[c x]" {
		t.Errorf("ran %s, want [c x]", got)
	}
	b.model.wantCount(4)
}

func TestMaxSamplesGrowsAndShrinks(t *testing.T) {
	b := newBench(t, echoes)
	b.prompts("a", "b", "c", "d", "e", "a")
	limit := func(n int) func(*Options) { return func(o *Options) { o.MaxSamples = n } }
	b.mustRun(limit(2))
	b.model.wantCount(2)
	b.mustRun(resume, limit(5))
	b.model.wantCount(5)
	b.mustRun(resume, limit(1))
	b.model.wantCount(5)
	if s := b.now.Load().Progress().Snapshot(); s.Total != 5 || s.Done != 5 {
		t.Errorf("%d of %d done; finished rows outside of the plan count", s.Done, s.Total)
	}
	b.mustRun(resume)
	b.model.wantCount(6)
	b.mustRun(resume)
	b.model.wantCount(6)
}

func TestRepeatedRowsRunOnceEach(t *testing.T) {
	b := newBench(t, echoes)
	b.dataset(`{"prompt":"a","k":1}`, `{"prompt":"b"}`, `{"prompt":"a","k":2}`, `{"prompt":"a"}`)
	b.mustRun()
	b.model.wantCount(4)
	b.dataset(`{"prompt":"a","k":2}`, `{"prompt":"a","k":3}`, `{"prompt":"b"}`)
	b.mustRun(resume)
	b.model.wantCount(4)
	b.dataset(`{"prompt":"a"}`, `{"prompt":"a"}`, `{"prompt":"a"}`, `{"prompt":"a"}`)
	b.mustRun(resume)
	b.model.wantCount(5)
}

// A plan that is up to date is not made again: a resume of a large finished
// run starts at once.
func TestUnchangedDatasetIsNotPlannedAgain(t *testing.T) {
	b := newBench(t, echoes)
	b.prompts("a", "b")
	b.mustRun()
	var before []db.Registration
	b.read(func(s *db.Store) { before, _ = s.Registrations() })
	b.mustRun(resume, batchSize(1))
	b.model.wantCount(2)
	b.read(func(s *db.Store) {
		if after, err := s.Registrations(); err != nil || !slices.Equal(before, after) {
			t.Errorf("registrations %v, were %v (%v)", after, before, err)
		}
	})
}
