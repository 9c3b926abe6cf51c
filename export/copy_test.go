package export

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hermes-batch/db"
)

// copyTo makes an export of a store that this process has.
func (f *fixture) copyTo(dir string, args ...string) (text string, err error) {
	f.Helper()
	var out strings.Builder
	c := Copy{Out: dir, Args: args}
	err = c.Write(&out, func(w io.Writer) error { return Stream(context.Background(), f.store, c.Args, w) })
	return out.String(), err
}

// rendered are the files of an export, without its mark.
func (f *fixture) rendered(dir string) map[string]string {
	f.Helper()
	files := f.files(dir)
	if _, ok := files[markName]; !ok {
		f.Errorf("%s has no mark", dir)
	}
	delete(files, markName)
	return files
}

func TestCopyEqualsTheRunsFiles(t *testing.T) {
	f := everything(t)
	f.render(f.renderer(Options{}), Final)
	want := f.files(f.dir)
	dir := filepath.Join(t.TempDir(), "a", "b")
	text, err := f.copyTo(dir)
	f.must(err)
	if got := f.rendered(dir); !maps.Equal(got, want) {
		t.Errorf("files %q, want %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	for _, want := range []string{"UNFINISHED", "1 prompt is not finished", "5 batch files", filepath.Join(dir, "trajectories.parquet"), "written, 5 rows"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if !strings.Contains(want["statistics.json"], `"run_finished": false`) {
		t.Errorf("statistics %s", want["statistics.json"])
	}
	if pending, ok := openParquet(t, filepath.Join(dir, "trajectories.parquet")).Lookup("hermes_batch.pending"); pending != "1" || !ok {
		t.Errorf("Parquet says %q pending", pending)
	}

	// Again: nothing is touched. Then the run ends.
	before := versions(t, dir)
	text, err = f.copyTo(dir)
	f.must(err)
	if after := versions(t, dir); !maps.Equal(before, after) || strings.Contains(text, "written") {
		t.Errorf("%v became %v\n%s", before, after, text)
	}
	f.answer(7, completed())
	text, err = f.copyTo(dir)
	f.must(err)
	if strings.Contains(text, "UNFINISHED") || !strings.Contains(f.rendered(dir)["statistics.json"], `"run_finished": true`) {
		t.Errorf("a complete run:\n%s", text)
	}
}

func TestCopyFormats(t *testing.T) {
	f := everything(t)
	for format, want := range map[string][]string{
		"hermes":  {"batch_0.jsonl", "batch_1.jsonl", "batch_2.jsonl", "batch_3.jsonl", "batch_4.jsonl", "checkpoint.json", "errors.jsonl", "statistics.json", "trajectories.jsonl"},
		"parquet": {"trajectories.parquet"},
	} {
		dir := filepath.Join(t.TempDir(), "out")
		text, err := f.copyTo(dir, "--format="+format)
		f.must(err)
		if got := slices.Sorted(maps.Keys(f.rendered(dir))); !slices.Equal(got, want) {
			t.Errorf("%s: files %q, want %q", format, got, want)
		}
		if !strings.Contains(text, "UNFINISHED") || !strings.Contains(text, "prompts       9") {
			t.Errorf("%s:\n%s", format, text)
		}
	}
	if _, err := f.copyTo(filepath.Join(t.TempDir(), "out"), "--format=csv"); err == nil {
		t.Error("any format will do")
	}
}

func TestCopyHasFiltersOfItsOwn(t *testing.T) {
	f := everything(t)
	f.render(f.renderer(Options{}), Final)
	before := versions(t, f.dir)
	dir := filepath.Join(t.TempDir(), "out")
	for _, test := range []struct {
		last map[string]string // flags of the run's last session
		args []string
		want []int
	}{
		{nil, nil, []int{0, 1, 5, 6, 8}},
		{nil, []string{"--keep_without_reasoning=true"}, []int{0, 1, 2, 5, 6, 8}},
		{nil, []string{"--keep_invalid_tools=true"}, []int{0, 1, 3, 5, 6, 8}},
		{map[string]string{flagInvalid: "true"}, nil, []int{0, 1, 3, 5, 6, 8}},
		{map[string]string{flagInvalid: "true"}, []string{"--keep_invalid_tools=false"}, []int{0, 1, 5, 6, 8}},
		{map[string]string{"output": "x.jsonl"}, nil, []int{0, 1, 2, 3, 5, 6, 8}},
	} {
		_, err := f.store.BeginLaunch(db.Launch{Flags: test.last})
		f.must(err)
		_, err = f.copyTo(dir, test.args...)
		f.must(err)
		if got := indices(t, f.rendered(dir)["trajectories.jsonl"]); !slices.Equal(got, test.want) {
			t.Errorf("%v, %v: rows %v, want %v", test.last, test.args, got, test.want)
		}
	}
	after := versions(t, f.dir)
	delete(before, "run.db")
	delete(after, "run.db")
	if !maps.Equal(before, after) {
		t.Errorf("the run's own files changed: %v became %v", before, after)
	}
}

func TestCopyRemovesFilesOfBatchesWithoutRows(t *testing.T) {
	f := newFixture(t)
	f.register(1, nil, numbered(2)...)
	silent := completed()
	silent.ReasonedTurns = 0
	f.answer(0, silent)
	f.answer(1, completed())
	dir := filepath.Join(t.TempDir(), "out")
	_, err := f.copyTo(dir, "--keep_without_reasoning=true")
	f.must(err)
	f.must(os.WriteFile(filepath.Join(dir, "README.md"), []byte("the user's own"), 0o644))
	text, err := f.copyTo(dir)
	f.must(err)
	files := f.rendered(dir)
	if _, ok := files["batch_0.jsonl"]; ok || files["README.md"] == "" || !strings.Contains(text, "removed") {
		t.Errorf("files %q\n%s", slices.Sorted(maps.Keys(files)), text)
	}
}

func TestCopyRefusesFoldersOfOthers(t *testing.T) {
	f, other := everything(t), everything(t)
	f.render(f.renderer(Options{}), Final)
	base := t.TempDir()
	reference := filepath.Join(base, "reference") // of the reference program
	f.must(os.Mkdir(reference, 0o755))
	f.must(os.WriteFile(filepath.Join(reference, "batch_0.jsonl"), []byte("{}\n"), 0o644))
	f.must(os.WriteFile(filepath.Join(base, "file"), []byte("x"), 0o644))
	_, err := other.copyTo(filepath.Join(base, "other"))
	f.must(err)
	for dir, want := range map[string]string{
		"":                            "--out is required",
		f.dir:                         "holds other files",
		reference:                     "holds other files",
		filepath.Join(base, "file"):   "not a directory",
		filepath.Join(base, "other"):  "holds an export of another run",
		filepath.Join(base, "file/x"): "not a directory",
	} {
		before := f.tree(base)
		if _, err := f.copyTo(dir); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", dir, err, want)
		}
		if after := f.tree(base); !maps.Equal(before, after) {
			t.Errorf("%q: files changed", dir)
		}
	}
	empty := filepath.Join(base, "empty")
	f.must(os.Mkdir(empty, 0o755))
	_, err = f.copyTo(empty)
	f.must(err)
}

// tree is all that lies below a folder.
func (f *fixture) tree(root string) map[string]string {
	f.Helper()
	all := map[string]string{}
	f.must(filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			data, err := os.ReadFile(path)
			all[path] = string(data)
			return err
		}
		all[path] = "folder"
		return err
	}))
	return all
}

func TestCopyThatIsCutChangesNothing(t *testing.T) {
	f := everything(t)
	base := t.TempDir()
	dir, missing := filepath.Join(base, "out"), filepath.Join(base, "missing")
	_, err := f.copyTo(dir)
	f.must(err)
	f.answer(7, completed())
	var whole bytes.Buffer
	f.must(Stream(context.Background(), f.store, nil, &whole))
	before := f.tree(base)
	lost := errors.New("the run ended")
	for size := 0; size < whole.Len(); size += whole.Len()/20 + 1 {
		for _, end := range []error{lost, nil} {
			for _, dir := range []string{dir, missing} {
				c := Copy{Out: dir}
				err := c.Write(io.Discard, func(w io.Writer) error {
					if _, err := w.Write(whole.Bytes()[:size]); err != nil {
						return err
					}
					return end
				})
				if end != nil && !errors.Is(err, end) || err == nil {
					t.Errorf("%d of %d bytes: %v", size, whole.Len(), err)
				}
				if after := f.tree(base); !maps.Equal(before, after) {
					t.Fatalf("%d of %d bytes: %q became %q", size, whole.Len(), slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
				}
			}
		}
	}
}

func TestCopyToAFullDisk(t *testing.T) {
	const limit = 4 << 20
	f := newFixture(t)
	f.register(2, nil, numbered(4)...)
	f.answer(0, completed())
	dir := filepath.Join(t.TempDir(), "out")
	_, err := f.copyTo(dir)
	f.must(err)
	before := f.tree(dir)
	f.session(db.MakeOrdinal(1, 0), completed(), begun(), gpt(strings.Repeat("much text ", limit/5), "t"))
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var old syscall.Rlimit
	f.must(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	f.must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: old.Max}))
	_, err = f.copyTo(dir)
	f.must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old))
	if !errors.Is(err, ErrWrite) || !errors.Is(err, syscall.EFBIG) {
		t.Errorf("error %v", err)
	}
	if after := f.tree(dir); !maps.Equal(before, after) {
		t.Errorf("files are %q", slices.Sorted(maps.Keys(after)))
	}
}

func TestTwoCopiesAtOnce(t *testing.T) {
	f := everything(t)
	dir := filepath.Join(t.TempDir(), "out")
	c := Copy{Out: dir}
	err := c.Write(io.Discard, func(w io.Writer) error {
		var started bool
		return Stream(context.Background(), f.store, nil, writerFunc(func(p []byte) (int, error) {
			n, err := w.Write(p)
			if !started && locked(filepath.Join(dir, markName)) {
				started = true
				if _, err := f.copyTo(dir); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "another export writes") {
					t.Errorf("the second one: %v", err)
				}
			}
			return n, err
		}))
	})
	f.must(err)
	if len(f.rendered(dir)) != 10 {
		t.Errorf("files %q", slices.Sorted(maps.Keys(f.files(dir))))
	}
}

// locked tells whether somebody holds the lock of a file, without touching it.
func locked(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	locks, _ := os.ReadFile("/proc/locks")
	return bytes.Contains(locks, fmt.Appendf(nil, ":%d ", info.Sys().(*syscall.Stat_t).Ino))
}

type writerFunc func([]byte) (int, error)

func (fn writerFunc) Write(p []byte) (int, error) { return fn(p) }

// TestCopyOfARunInProgress: what the files of one export say is of one moment.
func TestCopyOfARunInProgress(t *testing.T) {
	const n = 200
	f := newFixture(t)
	f.register(5, nil, numbered(n)...)
	var writer sync.WaitGroup
	done := make(chan struct{})
	writer.Go(func() {
		defer close(done)
		for i := range n {
			log, err := f.store.Log(db.MakeOrdinal((i*77)%n, 0))
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
	dir := filepath.Join(t.TempDir(), "out")
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		_, err := f.copyTo(dir)
		f.must(err)
		files := f.rendered(dir)
		rows := indices(t, files["trajectories.jsonl"])
		kept := 0
		for name, data := range files {
			if strings.HasPrefix(name, "batch_") {
				kept += strings.Count(data, "\n")
			}
		}
		stats, check := counted(t, files["statistics.json"]), counted(t, files["checkpoint.json"])
		parquet := openParquet(t, filepath.Join(dir, "trajectories.parquet")).NumRows()
		if stats.Kept != len(rows) || check.Kept != len(rows) || kept != len(rows) || int(parquet) != len(rows) || stats.Kept+stats.Pending != n {
			t.Errorf("%d rows, %d in batches, %d in Parquet; statistics %+v, checkpoint %+v", len(rows), kept, parquet, stats, check)
		}
	}
	writer.Wait()
}

func TestCopyFlags(t *testing.T) {
	for line, want := range map[string]string{
		"--out=x":                         "x",
		"--out x --format parquet":        "x --format=parquet",
		"--keep_invalid_tools --out=x":    "x --keep_invalid_tools=true",
		"--keep_without_reasoning=0":      " --keep_without_reasoning=false",
		"--format=csv":                    "",
		"--keep_without_reasoning=banana": "",
	} {
		fs := flag.NewFlagSet("export", flag.ContinueOnError)
		fs.SetOutput(io.Discard)
		c := RegisterCopy(fs)
		if err := fs.Parse(strings.Fields(line)); err != nil != (want == "") {
			t.Errorf("%s: %v", line, err)
		} else if got := strings.Join(append([]string{c.Out}, c.Args...), " "); err == nil && got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func FuzzReceive(f *testing.F) {
	var whole bytes.Buffer
	to := stream{to: gob.NewEncoder(&whole)}
	if err := to.send(message{Run: "a run"}); err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{"batch_0.jsonl", "trajectories.jsonl", "../escape", "/batch_1.jsonl"} {
		f.Add(bytes.Clone(whole.Bytes()))
		file := to.begin(name)
		if _, err := file.Write([]byte("{}\n")); err != nil {
			f.Fatal(err)
		}
		if _, err := file.commit(nil); err != nil {
			f.Fatal(err)
		}
		if err := to.send(message{Report: &Report{Files: []File{{Path: name, Rows: 1}}, Statistics: &Statistics{}}}); err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Clone(whole.Bytes()))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		base := t.TempDir()
		if rep, err := receive(bytes.NewReader(data), filepath.Join(base, "out")); err == nil && rep.Statistics == nil {
			t.Error("no statistics")
		}
		entries, err := os.ReadDir(base)
		if err != nil || len(entries) > 1 || len(entries) == 1 && entries[0].Name() != "out" {
			t.Errorf("%v, %v", entries, err)
		}
	})
}
