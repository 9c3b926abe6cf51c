package export

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes-batch/db"
)

// TestFinalAfterBackground lets a run go on under a renderer in every way that
// a run can, and compares its files with those of a renderer that comes later.
func TestFinalAfterBackground(t *testing.T) {
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 1))
		f := newFixture(t)
		f.register(3, nil, numbered(30)...)
		r := f.renderer(Options{})
		for _, i := range random.Perm(30) {
			f.answer(i, anOutcome(random))
			if random.IntN(3) > 0 {
				continue
			}
			f.render(r, Background)
			if r.ahead == nil {
				t.Fatal("nothing runs ahead")
			}
			disturb(f, random)
		}
		f.render(r, Background)
		retryFailed(f, random)
		disturb(f, random)
		f.render(r, Final)
		if r.ahead != nil {
			t.Error("a pass is left open")
		}
		got := f.files(f.dir)
		other := t.TempDir()
		f.render(f.renderer(Options{Dir: other}), Final)
		want := f.files(other)
		if a, b := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(a, b) {
			t.Errorf("seed %d: files %q, want %q", seed, a, b)
		}
		for name := range want {
			if got[name] != want[name] {
				t.Errorf("seed %d: %s is\n%s\nwant\n%s", seed, name, got[name], want[name])
			}
		}
	}
}

// TestFinalAfterBackgroundCutOff ends the run while something is rendered.
func TestFinalAfterBackgroundCutOff(t *testing.T) {
	f := newFixture(t)
	f.register(2, nil, numbered(4)...)
	f.answer(0, completed())
	f.answer(1, completed())
	r := f.renderer(Options{})
	f.render(r, Background)
	ctx, cancel := context.WithCancel(t.Context())
	tell := r.ahead.tell
	r.ahead.tell = func(o db.Ordinal, out *db.Outcome, v Verdict) error {
		cancel()
		return tell(o, out, v)
	}
	f.answer(2, completed())
	f.answer(3, completed())
	_, err := r.Render(ctx, Background)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if ctx.Err() == nil || r.ahead == nil || len(r.ahead.passed) != 2 {
		t.Errorf("what was rendered ahead is lost: %+v", r.ahead)
	}
	if rep := f.render(r, Final); rep.Counts.Kept != 4 {
		t.Errorf("%+v", rep.Counts)
	}
}

// TestFinalAfterBackgroundOnOldFiles takes files away that the pass which runs
// ahead has found up to date.
func TestFinalAfterBackgroundOnOldFiles(t *testing.T) {
	f := newFixture(t)
	f.register(2, nil, numbered(6)...)
	for i := range 6 {
		f.answer(i, completed())
	}
	f.render(f.renderer(Options{}), Final)
	want := f.files(f.dir)
	for _, gone := range []string{"batch_1.jsonl", "trajectories.jsonl", "trajectories.parquet"} {
		r := f.renderer(Options{})
		f.render(r, Background)
		f.must(os.Remove(filepath.Join(f.dir, gone)))
		rep := f.render(r, Final)
		wantNames(t, rep, Written, gone)
		if got := f.files(f.dir); !maps.Equal(got, want) {
			t.Errorf("without %s the files are %q, want %q", gone, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
	}
}

// TestFinalAfterTemporaryFilesWereTouched does to the files that grow while a
// run goes on what a cleaner of folders may do.
func TestFinalAfterTemporaryFilesWereTouched(t *testing.T) {
	touches := map[string]func(path string) error{
		"removed": os.Remove,
		"cut":     func(path string) error { return os.Truncate(path, 10) },
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+".other", []byte("something else\n"), 0o644), os.Rename(path+".other", path))
		},
		"a folder": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) },
	}
	for name, touch := range touches {
		f := newFixture(t)
		f.register(1, nil, numbered(4)...)
		for i := range 3 {
			f.session(db.MakeOrdinal(i, 0), completed(), begun(), gpt(strings.Repeat("much text ", 20_000), "a thought"))
		}
		r := f.renderer(Options{})
		f.render(r, Background)
		f.must(touch(temporary(filepath.Join(f.dir, "trajectories.jsonl"))))
		f.answer(3, completed())
		f.render(r, Final)
		got := f.files(f.dir)
		other := t.TempDir()
		f.render(f.renderer(Options{Dir: other}), Final)
		if want := f.files(other); !maps.Equal(got, want) {
			t.Errorf("%s: the files are %q, want %q or their content is another", name, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
	}
}

// TestFinalAfterParquetFailed has a row that cannot be written among those that
// come while the run goes on; a disk that is full for a while is the same.
func TestFinalAfterParquetFailed(t *testing.T) {
	f := newFixture(t)
	f.register(2, nil, numbered(3)...)
	f.answer(0, completed())
	f.answer(1, completed())
	r := f.renderer(Options{})
	f.render(r, Background)
	f.must(r.ahead.parquet.add(&row{entries: [][]byte{[]byte("{")}}))
	<-r.ahead.parquet.done
	f.answer(2, completed())
	if rep := f.render(r, Final); !slices.ContainsFunc(rep.In(Written), func(x File) bool { return filepath.Base(x.Path) == "trajectories.parquet" }) {
		t.Errorf("the final rendering wrote %v", rep.In(Written))
	}
}

func anOutcome(random *rand.Rand) *db.Outcome {
	switch random.IntN(6) {
	case 0:
		return failed("transient", "server")
	case 1:
		silent := completed()
		silent.ReasonedTurns = 0
		return silent
	case 2:
		invalid := completed()
		invalid.InvalidTools = []string{"made_up"}
		return invalid
	}
	return completed()
}

// disturb does to the run's folder and store what may happen meanwhile.
func disturb(f *fixture, random *rand.Rand) {
	path := filepath.Join(f.dir, batchName(random.IntN(10)))
	switch random.IntN(6) {
	case 0:
		if err := os.Remove(path); !os.IsNotExist(err) {
			f.must(err)
		}
	case 1:
		f.must(os.WriteFile(path, []byte("something else\n"), 0o644))
	case 2:
		retryFailed(f, random)
	case 3:
		f.must(f.store.AddTools([]string{"mcp_" + string(rune('a'+random.IntN(26)))}))
	}
}

// retryFailed brings a failed prompt to another outcome.
func retryFailed(f *fixture, random *rand.Rand) {
	var places []db.Ordinal
	f.must(f.store.OutcomeHeads(0, func(h db.OutcomeHead) bool {
		if h.End == db.EndFailed {
			places = append(places, h.Ordinal)
		}
		return true
	}))
	if len(places) > 0 {
		f.session(places[random.IntN(len(places))], completed(), &db.Retry{Reason: "server"}, gpt("at last", "a thought"))
	}
}

func TestFinalFindsItsWorkDone(t *testing.T) {
	f := newFixture(t)
	f.register(5, nil, numbered(22)...)
	r := f.renderer(Options{})
	for i := range 22 {
		f.answer(i, completed())
	}
	for f.render(r, Background); len(r.ahead.passed) < 5; {
		f.render(r, Background) // as often as the budget wants
	}
	rep := f.render(r, Final)
	wantNames(t, rep, Written, "trajectories.jsonl", "statistics.json", "trajectories.parquet")
	if n := len(rep.Files); n != 10 || rep.Statistics.Total != 22 {
		t.Errorf("the report has %d files and %d prompts", n, rep.Statistics.Total)
	}
}

// TestCloseLeavesNothing gives a renderer up in every way that a run can end. No
// half of a file stays; that nothing stays open is seen after all tests.
func TestCloseLeavesNothing(t *testing.T) {
	for name, end := range map[string]func(*fixture, *Renderer){
		"background": func(*fixture, *Renderer) {},
		"stop":       func(f *fixture, r *Renderer) { f.render(r, Stop) },
		"final":      func(f *fixture, r *Renderer) { f.render(r, Final) },
		"cancelled": func(f *fixture, r *Renderer) {
			f.answer(4, completed())
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := r.Render(ctx, Final); !errors.Is(err, context.Canceled) {
				f.Errorf("got %v", err)
			}
		},
		"closed store": func(f *fixture, r *Renderer) {
			f.must(f.store.Close())
			if _, err := r.Render(t.Context(), Final); !errors.Is(err, db.ErrClosed) {
				f.Errorf("got %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.register(2, nil, numbered(6)...)
			for i := range 4 {
				f.answer(i, completed())
			}
			r := f.renderer(Options{})
			f.render(r, Background)
			if begun, _ := filepath.Glob(temporary(filepath.Join(f.dir, "*"))); len(begun) == 0 {
				t.Fatal("nothing was begun")
			}
			end(f, r)
			r.Close()
			r.Close()
			if left, _ := filepath.Glob(temporary(filepath.Join(f.dir, "*"))); len(left) > 0 {
				t.Errorf("%q are left", left)
			}
		})
	}
}
