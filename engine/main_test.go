package engine

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hermes-batch/db"
	"hermes-batch/testdata/leak"
	"hermes-batch/tools/sandbox"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestMain makes the test binary the supervisor of its own commands, and the
// program that the crash tests kill.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.SuperviseArg {
		os.Exit(sandbox.Supervise())
	}
	if text := os.Getenv(childVariable); text != "" {
		os.Exit(childMain(text))
	}
	os.Exit(leak.Check(m.Run()))
}

// bench is a folder in which runs are made against a scripted model.
type bench struct {
	t     *testing.T
	model *script
	deps  Deps
	hook  func(*Run) // called between Start and Work
	now   atomic.Pointer[Run]
}

// newBench makes a folder of its own the working folder. The store that a test
// leaves there is checked when the test ends.
func newBench(t *testing.T, reply func(ask) (int, string)) *bench {
	t.Helper()
	t.Chdir(t.TempDir())
	b := &bench{t: t, model: newScript(t, reply), deps: Deps{Sleep: nap}}
	t.Cleanup(b.check)
	return b
}

// nap is a sleep that makes long waits short, for tests in which time plays no
// part.
func nap(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(min(d, time.Millisecond)):
		return nil
	}
}

func (b *bench) check() {
	if there, _ := exists(storeFile()); !there {
		return
	}
	b.read(func(s *db.Store) { checkStore(b.t, s) })
}

func checkStore(t *testing.T, s *db.Store) {
	t.Helper()
	report, err := s.Check(context.Background(), true)
	if err != nil || report.Found > 0 {
		t.Errorf("the store is not sound: %v %q", err, report.Problems)
	}
}

func storeFile() string { return filepath.Join("data", "r", "run.db") }

// dataset writes the dataset, one line each.
func (b *bench) dataset(lines ...string) {
	b.t.Helper()
	writeFile(b.t, "data.jsonl", strings.Join(lines, "\n")+"\n")
}

// prompts writes a dataset of plain prompts.
func (b *bench) prompts(texts ...string) {
	b.t.Helper()
	var lines []string
	for _, text := range texts {
		lines = append(lines, fmt.Sprintf(`{"prompt": %q}`, text))
	}
	b.dataset(lines...)
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) options(change ...func(*Options)) *Options {
	o := testOptions()
	o.BaseURL = b.model.URL + "/v1"
	for _, c := range change {
		c(o)
	}
	return o
}

func testOptions() *Options {
	o := &Options{}
	o.Register(flag.NewFlagSet("run", flag.ContinueOnError))
	o.DatasetFile, o.BatchSize, o.RunName, o.Model, o.Distribution = "data.jsonl", 2, "r", "m", "local"
	o.WorkDir, o.ShutdownGrace = "state", 200*time.Millisecond
	return o
}

func resume(o *Options)    { o.Resume = true }
func oneWorker(o *Options) { o.Workers = 1 }

func maxTurns(n int) func(*Options) { return func(o *Options) { o.MaxTurns = n } }

// run makes a whole run, as main does, and returns its error.
func (b *bench) run(ctx context.Context, change ...func(*Options)) error {
	b.t.Helper()
	r, err := b.start(ctx, change...)
	if err != nil {
		return err
	}
	return b.finish(ctx, r)
}

func (b *bench) start(ctx context.Context, change ...func(*Options)) (*Run, error) {
	b.t.Helper()
	o := b.options(change...)
	folder, err := o.Folder()
	if err != nil {
		return nil, err
	}
	store, err := folder.Find(o, db.Options{})
	if err != nil {
		return nil, err
	}
	return Start(ctx, o, folder, store, b.deps)
}

func (b *bench) finish(ctx context.Context, r *Run) error {
	b.now.Store(r)
	if b.hook != nil {
		b.hook(r)
	}
	end := r.Work(ctx)
	return errors.Join(end, r.Close(end))
}

// mustRun makes a run that gives every prompt an outcome.
func (b *bench) mustRun(change ...func(*Options)) {
	b.t.Helper()
	if err := b.run(context.Background(), change...); err != nil {
		b.t.Fatal(err)
	}
}

// store is that of the run that goes on.
func (b *bench) store() *db.Store { return b.now.Load().Store() }

// workFolder is where the run that goes on has a prompt's work folder.
func (b *bench) workFolder(index, attempt int) string {
	return filepath.Join(b.now.Load().workDir, fmt.Sprintf("%d-0-a%d", index, attempt))
}

// read opens the store of the run that ended.
func (b *bench) read(fn func(*db.Store)) {
	b.t.Helper()
	s, err := db.Open(storeFile(), db.Options{ReadOnly: true})
	if err != nil {
		b.t.Fatal(err)
	}
	defer s.Close()
	fn(s)
}

// ends reads how every prompt ended, by index: "end/reason", and the class of
// failures.
func (b *bench) ends() map[int]string {
	b.t.Helper()
	ends := map[int]string{}
	b.read(func(s *db.Store) {
		err := s.Outcomes(0, func(o db.Ordinal, out db.Outcome) error {
			ends[o.Index()] = strings.TrimSuffix(out.End+"/"+out.Reason+"/"+out.Class, "/")
			return nil
		})
		if err != nil {
			b.t.Fatal(err)
		}
	})
	return ends
}

// wantEnds compares how the prompts ended, in order of their index; "" is a
// prompt without an outcome.
func (b *bench) wantEnds(want ...string) {
	b.t.Helper()
	got := b.ends()
	for index, end := range want {
		if got[index] != end {
			b.t.Errorf("prompt %d ended as %q, want %q", index, got[index], end)
		}
	}
	if extra := len(got) - len(want) + count(want, ""); extra > 0 {
		b.t.Errorf("%d outcomes more than expected: %v", extra, got)
	}
}

func count(list []string, text string) (n int) {
	for _, s := range list {
		if s == text {
			n++
		}
	}
	return n
}

const answered = "completed/answer"

func (b *bench) outcome(index int) (out db.Outcome) {
	b.t.Helper()
	b.read(func(s *db.Store) {
		var found bool
		var err error
		if out, found, err = s.Outcome(db.MakeOrdinal(index, 0)); err != nil || !found {
			b.t.Fatalf("prompt %d has no outcome: %v", index, err)
		}
	})
	return out
}

// talk is a prompt's conversation, one JSON text an entry.
func (b *bench) talk(index int) (lines []string) {
	b.t.Helper()
	b.read(func(s *db.Store) { lines = talkOf(b.t, s, index) })
	return lines
}

func talkOf(t *testing.T, s *db.Store, index int) (lines []string) {
	t.Helper()
	for _, st := range threadOf(t, s, index) {
		if raw, ok := st.EntryJSON(); ok {
			lines = append(lines, string(raw))
		}
	}
	return lines
}

func threadOf(t *testing.T, s *db.Store, index int) []db.Step {
	t.Helper()
	thread, err := s.Thread(db.MakeOrdinal(index, 0))
	if err != nil {
		t.Error(err)
	}
	return thread
}

// records are the decoded steps of one kind in a prompt's thread.
func records[T db.Record](t *testing.T, s *db.Store, index int) (list []T) {
	t.Helper()
	for _, st := range threadOf(t, s, index) {
		rec, err := st.Decode()
		if err != nil {
			t.Error(err)
		}
		if r, ok := rec.(T); ok {
			list = append(list, r)
		}
	}
	return list
}

// kinds are the kinds of the steps in a prompt's thread, in order.
func kinds(t *testing.T, s *db.Store, index int) string {
	t.Helper()
	var names []string
	for _, st := range threadOf(t, s, index) {
		names = append(names, st.Kind.String())
	}
	return strings.Join(names, " ")
}

// folders lists the work folders that are left.
func folders(t *testing.T) (names []string) {
	t.Helper()
	paths, err := filepath.Glob("state/*/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil && info.IsDir() {
			names = append(names, filepath.Base(p))
		}
	}
	slices.Sort(names)
	return names
}
