package export

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"hermes-batch/db"
)

// versions are what tells whether a file was written anew.
func versions(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = fmt.Sprint(info.Sys().(*syscall.Stat_t).Ino, info.ModTime(), info.Size())
	}
	return all
}

func TestEveryRowHasTheSameKeys(t *testing.T) {
	f := everything(t)
	f.render(f.renderer(Options{Filters: keepAll()}), Final)
	files := f.files(f.dir)
	var rows string
	for name, data := range files {
		if strings.HasPrefix(name, "batch_") {
			rows += data
		}
	}
	checkShapes(t, "batch files", rows, ".conversations[]", ".toolsets_used[]")
	checkShapes(t, "trajectories.jsonl", files["trajectories.jsonl"], ".conversations[]", ".toolsets_used[]")
	checkShapes(t, "errors.jsonl", files["errors.jsonl"])
	for _, name := range []string{"checkpoint.json", "statistics.json"} {
		shape(t, files[name])
	}
}

func TestUnusedToolsetsKeepTheirType(t *testing.T) {
	f := newFixture(t)
	f.register(2, nil, numbered(2)...)
	none := completed()
	none.Toolsets = nil
	f.answer(0, none)
	f.answer(1, completed())
	f.render(f.renderer(Options{}), Final)
	checkShapes(t, "batch_0.jsonl", f.files(f.dir)["batch_0.jsonl"], ".conversations[]", ".toolsets_used[]")
}

func TestRenderingAgainWritesNothing(t *testing.T) {
	f := everything(t)
	f.render(f.renderer(Options{}), Final)
	before := versions(t, f.dir)
	f.begin() // a resume that finds nothing to do
	for _, mode := range []Mode{Final, Background, Stop} {
		rep := f.render(f.renderer(Options{}), mode)
		if written := rep.In(Written); len(written) > 0 {
			t.Errorf("mode %d writes %v", mode, written)
		}
	}
	after := versions(t, f.dir)
	delete(before, "run.db")
	delete(after, "run.db")
	if !maps.Equal(before, after) {
		t.Errorf("files %v became %v", before, after)
	}
}

func TestDamagedFilesAreReplaced(t *testing.T) {
	f := everything(t)
	f.render(f.renderer(Options{}), Final)
	want := f.files(f.dir)
	write := func(name, data string) {
		f.must(os.WriteFile(filepath.Join(f.dir, name), []byte(data), 0o644))
	}
	write("trajectories.jsonl", want["trajectories.jsonl"][:1000])            // cut
	write("batch_0.jsonl", want["batch_0.jsonl"]+`{"prompt_index": 7, "conv`) // torn tail
	write("batch_1.jsonl", strings.Repeat("x", len(want["batch_1.jsonl"])))   // as long, but garbage
	write("batch_2.jsonl", "")                                                // empty
	write("checkpoint.json", want["checkpoint.json"][:10])
	write("statistics.json", "\x00"+want["statistics.json"])
	write(".errors.jsonl.tmp", "left behind by a killed program")
	f.must(os.Remove(filepath.Join(f.dir, "errors.jsonl")))
	f.must(os.Remove(filepath.Join(f.dir, "batch_4.jsonl")))
	f.must(os.Symlink("/nowhere/at/all", filepath.Join(f.dir, "batch_4.jsonl"))) // a link is replaced, not followed
	rep := f.render(f.renderer(Options{}), Final)
	if got := f.files(f.dir); !maps.Equal(got, want) {
		t.Errorf("files are %v", slices.Sorted(maps.Keys(got)))
	}
	if n := len(rep.In(Written)); n != 8 { // all but batch_3.jsonl
		t.Errorf("%d files written: %v", n, rep.Files)
	}
}

func TestLeftoversOfKilledRenderings(t *testing.T) {
	f := everything(t)
	f.render(f.renderer(Options{}), Final)
	want := f.files(f.dir)
	for _, name := range []string{"trajectories.jsonl", "batch_0.jsonl", "checkpoint.json"} {
		f.must(os.WriteFile(temporary(filepath.Join(f.dir, name)), []byte("half"), 0o644))
	}
	f.render(f.renderer(Options{}), Final)
	if got := f.files(f.dir); !maps.Equal(got, want) {
		t.Errorf("files are %v", slices.Sorted(maps.Keys(got)))
	}
}

func TestOrder(t *testing.T) {
	var want map[string]string
	for seed := range uint64(3) {
		f := newFixture(t)
		f.register(2, nil, numbered(25)...)
		order := rand.New(rand.NewPCG(seed, 0)).Perm(25)
		r := f.renderer(Options{})
		for _, i := range order {
			f.clock = i // the outcome's time does not depend on the order
			f.answer(i, completed())
			if i%3 == 0 {
				f.render(r, Background)
			}
		}
		f.render(r, Final)
		got := f.files(f.dir)
		if all := indices(t, got["trajectories.jsonl"]); !slices.IsSorted(all) || len(all) != 25 {
			t.Errorf("trajectories.jsonl has rows %v", all)
		}
		if rows := indices(t, got["batch_10.jsonl"]); !slices.Equal(rows, []int{20, 21}) {
			t.Errorf("batch_10.jsonl has rows %v", rows)
		}
		if want == nil {
			want = got
		}
		if !maps.Equal(got, want) {
			t.Errorf("order %v gives other files", order)
		}
	}
}

func TestLongerDataset(t *testing.T) {
	f := newFixture(t)
	f.register(2, nil, numbered(5)...)
	for i := range 5 {
		f.answer(i, completed())
	}
	f.render(f.renderer(Options{}), Final)
	before := versions(t, f.dir)
	more := []db.Prompt{{Text: "more 0"}, {Text: "more 1"}, {Text: "more 2"}, {Text: "more 3"}}
	f.begin()
	f.register(3, nil, more...)
	for i := 5; i < 9; i++ {
		f.answer(i, completed())
	}
	f.render(f.renderer(Options{}), Final)
	after, files := versions(t, f.dir), f.files(f.dir)
	for b, rows := range [][]int{{0, 1}, {2, 3}, {4}, {5, 6, 7}, {8}} {
		name := batchName(b)
		if got := indices(t, files[name]); !slices.Equal(got, rows) {
			t.Errorf("%s has rows %v, want %v", name, got, rows)
		}
		if was, ok := before[name]; ok && was != after[name] {
			t.Errorf("%s was written again", name)
		}
	}
}

func TestEmptyRunHasEmptyFiles(t *testing.T) {
	f := newFixture(t)
	f.register(10, nil, numbered(2)...)
	silent := completed()
	silent.ReasonedTurns = 0
	f.answer(0, silent)
	rep := f.render(f.renderer(Options{}), Final)
	files := f.files(f.dir)
	if data, ok := files["trajectories.jsonl"]; !ok || data != "" {
		t.Errorf("trajectories.jsonl: %t, %q", ok, data)
	}
	if _, ok := files["batch_0.jsonl"]; ok {
		t.Error("a batch without rows has a file")
	}
	if hint := reasoningHint(rep.Counts); !strings.Contains(hint, "--keep_without_reasoning") {
		t.Errorf("hint %q", hint)
	}
}

func TestFiltersChangeAnOldRun(t *testing.T) {
	f := everything(t)
	f.render(f.renderer(Options{}), Final)
	rep := f.render(f.renderer(Options{Filters: keepAll()}), Final)
	if rep.Counts.Kept != 7 || rep.Counts.Discarded+rep.Counts.Filtered != 0 {
		t.Errorf("counts %+v", rep.Counts)
	}
	if rows := indices(t, f.files(f.dir)["trajectories.jsonl"]); !slices.Equal(rows, []int{0, 1, 2, 3, 5, 6, 8}) {
		t.Errorf("rows %v", rows)
	}
	f.render(f.renderer(Options{}), Final)
	if rows := indices(t, f.files(f.dir)["trajectories.jsonl"]); !slices.Equal(rows, []int{0, 1, 5, 6, 8}) {
		t.Errorf("rows %v", rows)
	}
}

func TestStaleBatchFileIsRemoved(t *testing.T) {
	f := newFixture(t)
	f.register(1, nil, numbered(2)...)
	silent := completed()
	silent.ReasonedTurns = 0
	f.answer(0, silent)
	f.answer(1, completed())
	f.render(f.renderer(Options{Filters: keepAll()}), Final)
	foreign := filepath.Join(f.dir, "batch_7.jsonl")
	f.must(os.WriteFile(foreign, []byte("not ours\n"), 0o644))
	rep := f.render(f.renderer(Options{}), Final)
	if removed := rep.In(Removed); len(removed) != 1 || filepath.Base(removed[0].Path) != "batch_0.jsonl" {
		t.Errorf("removed %v", removed)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error(err)
	}
}

func TestShortForm(t *testing.T) {
	f := everything(t)
	dir := f.TempDir()
	opts := Options{Output: filepath.Join(dir, "results.jsonl")}
	r := f.renderer(opts)
	f.render(r, Background)
	rows := indices(t, f.files(dir)["results.jsonl"])
	if !slices.Equal(rows, []int{0, 1, 2, 3, 5, 6, 8}) {
		t.Errorf("rows %v", rows)
	}
	if rep := f.render(r, Background); len(rep.Files) != 2 { // checkpoint and errors
		t.Errorf("rendered again: %v", rep.Files)
	}
	f.answer(4, completed())
	f.render(r, Background)
	if rows := indices(t, f.files(dir)["results.jsonl"]); !slices.Contains(rows, 4) {
		t.Errorf("rows %v", rows)
	}
	rep := f.render(r, Final)
	if _, ok := f.files(f.dir)["trajectories.jsonl"]; ok || rep.Counts.Kept != 8 {
		t.Errorf("trajectories.jsonl beside the output: %t; %+v", ok, rep.Counts)
	}
}

func TestFullDiskKeepsOldFiles(t *testing.T) {
	// A limit to the size of files stands for the full disk. It holds for the
	// whole process, so it leaves room for what the test tool writes.
	const limit = 4 << 20
	f := newFixture(t)
	f.register(2, nil, numbered(4)...)
	f.answer(0, completed())
	f.answer(1, completed())
	f.render(f.renderer(Options{}), Final)
	want := f.files(f.dir)
	for i := 2; i < 4; i++ {
		f.session(db.MakeOrdinal(i, 0), completed(), begun(), gpt(strings.Repeat("much text ", limit/5), "t"))
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var old syscall.Rlimit
	f.must(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	f.must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: old.Max}))
	rep, err := f.renderer(Options{}).Render(context.Background(), Final)
	f.must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old))
	if !errors.Is(err, ErrWrite) || !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "batch_1.jsonl") {
		t.Errorf("error %v", err)
	}
	// What there is room for is up to date; the rest is as it was, whole.
	got := f.files(f.dir)
	if !strings.Contains(got["checkpoint.json"], `"completed_prompts": [0,1,2,3]`) {
		t.Errorf("checkpoint %s", got["checkpoint.json"])
	}
	small := []string{"checkpoint.json", "statistics.json", "trajectories.parquet"}
	for _, name := range small {
		delete(got, name)
		delete(want, name)
	}
	if !maps.Equal(got, want) {
		t.Errorf("files are %v", slices.Sorted(maps.Keys(got)))
	}
	wantNames(t, rep, Written, small...)
	f.render(f.renderer(Options{}), Final) // with room again
	if rows := indices(t, f.files(f.dir)["trajectories.jsonl"]); len(rows) != 4 {
		t.Errorf("rows %v", rows)
	}
}

func TestUnwritableFileIsNamed(t *testing.T) {
	f := everything(t)
	f.must(os.Mkdir(filepath.Join(f.dir, "checkpoint.json"), 0o755))
	_, err := f.renderer(Options{}).Render(context.Background(), Final)
	if !errors.Is(err, ErrWrite) || !strings.Contains(err.Error(), "checkpoint.json") {
		t.Errorf("error %v", err)
	}
}

// TestUnwritableFileKeepsNoneBack has a folder in the place of one file.
func TestUnwritableFileKeepsNoneBack(t *testing.T) {
	whole := everything(t)
	whole.render(whole.renderer(Options{}), Final)
	want := whole.files(whole.dir)
	for _, name := range []string{"batch_0.jsonl", "trajectories.jsonl", "trajectories.parquet", "statistics.json"} {
		for _, before := range []Mode{Background, Final} {
			f := everything(t)
			f.must(os.MkdirAll(filepath.Join(f.dir, name, "x"), 0o755))
			r := f.renderer(Options{})
			if before == Background {
				if _, err := r.Render(context.Background(), Background); err != nil && !errors.Is(err, ErrWrite) {
					t.Errorf("%s: %v", name, err)
				}
			}
			_, err := r.Render(context.Background(), Final)
			if !errors.Is(err, ErrWrite) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: error %v", name, err)
			}
			f.must(os.RemoveAll(filepath.Join(f.dir, name)))
			got := f.files(f.dir)
			for other := range want {
				if other != name && got[other] != want[other] {
					t.Errorf("without %s, %s is not as it should be", name, other)
				}
			}
		}
	}
}

func TestCancelledRenderingLeavesNothing(t *testing.T) {
	f := everything(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, mode := range []Mode{Background, Stop, Final} {
		if _, err := f.renderer(Options{}).Render(ctx, mode); !errors.Is(err, context.Canceled) {
			t.Errorf("mode %d: %v", mode, err)
		}
	}
	for name := range f.files(f.dir) {
		if strings.HasPrefix(name, ".") {
			t.Errorf("%s was left behind", name)
		}
	}
}

func TestLongRowIsReported(t *testing.T) {
	f := newFixture(t)
	f.register(1, nil, db.Prompt{Text: strings.Repeat("\"", longRow)})
	f.answer(0, completed())
	rep := f.render(f.renderer(Options{}), Final)
	if rep.LongRows != 1 {
		t.Errorf("%d long rows", rep.LongRows)
	}
	if rows := indices(t, f.files(f.dir)["trajectories.jsonl"]); len(rows) != 1 {
		t.Errorf("rows %v", rows)
	}
}
