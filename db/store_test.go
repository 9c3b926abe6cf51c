package db

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// testTime is the clock of stores whose bytes a test compares.
var testTime = time.Date(2026, 1, 15, 10, 30, 0, 0, time.UTC)

// newStore makes a store that is checked when the test ends.
func newStore(tb testing.TB) *Store {
	tb.Helper()
	s, err := Create(filepath.Join(tb.TempDir(), "run.db"), Run{Name: "test"}, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { closeSound(tb, s) })
	return s
}

// closeSound closes a store that must be sound.
func closeSound(tb testing.TB, s *Store) {
	tb.Helper()
	if !isClosed(s) {
		mustBeSound(tb, s)
	}
	if err := s.Close(); err != nil {
		tb.Errorf("close: %v", err)
	}
}

func isClosed(s *Store) bool {
	_, err := s.NextIndex()
	return errors.Is(err, ErrClosed)
}

func mustBeSound(tb testing.TB, s *Store) Report {
	tb.Helper()
	r, err := s.Check(context.Background(), true)
	if err != nil {
		tb.Errorf("check: %v", err)
	}
	if r.Found > 0 {
		tb.Errorf("check found %d problems:\n%s", r.Found, strings.Join(r.Problems, "\n"))
	}
	return r
}

// reopen closes a store and opens it again.
func reopen(tb testing.TB, s *Store, opts Options) *Store {
	tb.Helper()
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
	return openStore(tb, s.Path(), opts)
}

func openStore(tb testing.TB, path string, opts Options) *Store {
	tb.Helper()
	s, err := Open(path, opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { closeSound(tb, s) })
	return s
}

// register adds n prompts and seals them in batches of 10.
func register(tb testing.TB, s *Store, n int) {
	tb.Helper()
	first, err := s.NextIndex()
	if err != nil {
		tb.Fatal(err)
	}
	var prompts []Prompt
	rows := make([]uint32, first+n)
	for i := range rows {
		rows[i] = uint32(i)
		if i >= first {
			prompts = append(prompts, prompt(i, fmt.Sprintf("What is %d plus one?", i)))
		}
	}
	if err := s.PutPrompts(prompts); err != nil {
		tb.Fatal(err)
	}
	if err := s.PutPlan(Plan{Path: "p.jsonl"}, rows, nil, 10); err != nil {
		tb.Fatal(err)
	}
}

func prompt(index int, text string) Prompt {
	return Prompt{Index: index, Text: text, Hash: PromptHash(text, "", ""), Extra: []byte("{}")}
}

func openLog(tb testing.TB, s *Store, o Ordinal) *Log {
	tb.Helper()
	l, err := s.Log(o)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func start() *Attempt { return &Attempt{Parent: -1, ForkStep: -1, Reason: "start"} }

func gpt(value string) *Turn { return &Turn{Entry: Entry{From: "gpt", Value: value}} }

func mustWait(tb testing.TB, c *Commit) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := c.Wait(ctx); err != nil {
		tb.Fatal(err)
	}
}

func readFile(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func writeFile(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
}

func TestCloseIsFinal(t *testing.T) {
	s := newStore(t)
	register(t, s, 1)
	l := openLog(t, s, 0)
	first := l.Append(start())
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	mustWait(t, first) // Close waits for what is queued
	if err := l.Append(gpt("late")).Wait(context.Background()); !errors.Is(err, ErrClosed) {
		t.Errorf("append after close: %v", err)
	}
	if _, err := s.Thread(0); !errors.Is(err, ErrClosed) {
		t.Errorf("read after close: %v", err)
	}
	if _, err := s.PutBlob([]byte("late")); !errors.Is(err, ErrClosed) {
		t.Errorf("blob after close: %v", err)
	}
	if s.Err() != nil {
		t.Errorf("a closed store says it failed: %v", s.Err())
	}
	s = openStore(t, s.Path(), Options{})
	if thread, err := s.Thread(0); err != nil || len(thread) != 1 {
		t.Errorf("thread has %d steps, %v", len(thread), err)
	}
}

func TestReadOnlyWritesNothing(t *testing.T) {
	s := newStore(t)
	register(t, s, 1)
	r := reopen(t, s, Options{ReadOnly: true})
	second := openStore(t, s.Path(), Options{ReadOnly: true}) // readers do not keep each other out
	if p, err := second.Prompt(0); err != nil || p.Batch != 0 {
		t.Errorf("prompt 0: %+v, %v", p, err)
	}
	_, logErr := r.Log(0)
	_, settingsErr := r.PutSettings([]byte("{}"))
	_, blobErr := r.PutBlob([]byte("x"))
	_, launchErr := r.BeginLaunch(Launch{})
	for what, err := range map[string]error{
		"log": logErr, "settings": settingsErr, "blob": blobErr, "launch": launchErr,
		"prompts": r.PutPrompts([]Prompt{prompt(1, "x")}), "plan": r.PutPlan(Plan{}, nil, nil, 1),
		"drop": r.DropUnsealed(), "tools": r.AddTools([]string{"x"}), "socket": r.AnnounceSocket("/x"),
	} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := ReadLock(s.Path()); !errors.Is(err, ErrNotFound) {
		t.Errorf("a reader left a lock file: %v", err)
	}
}

func TestRunKeepsItsTools(t *testing.T) {
	s := newStore(t)
	if err := s.AddTools([]string{"calculator", "terminal"}); err != nil {
		t.Fatal(err)
	}
	if err := s.AddTools([]string{"terminal", "mcp_x"}); err != nil {
		t.Fatal(err)
	}
	want := s.Run()
	if got := strings.Join(want.Tools, " "); got != "calculator terminal mcp_x" {
		t.Errorf("tools %q", got)
	}
	if want.Name != "test" || len(want.ID) != 36 || want.ID[14] != '4' || want.Created.IsZero() {
		t.Errorf("run %+v", want)
	}
	s = reopen(t, s, Options{})
	if got := s.Run(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("run changed: %+v, was %+v", got, want)
	}
}

func TestSettingsAndBlobs(t *testing.T) {
	s := newStore(t)
	large := incompressible(3*maxInline + 17)
	for _, data := range [][]byte{nil, []byte("{}"), []byte(strings.Repeat("tools ", 1000)), large} {
		h, err := s.PutBlob(data)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.PutBlob(data)
		if err != nil || again != h {
			t.Errorf("second put: %s, %v", again, err)
		}
		if got, err := s.Blob(h); err != nil || string(got) != string(data) {
			t.Errorf("blob of %d bytes came back with %d, %v", len(data), len(got), err)
		}
		fp, err := s.PutSettings(data)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Settings(fp); err != nil || string(got) != string(data) {
			t.Errorf("settings of %d bytes came back with %d, %v", len(data), len(got), err)
		}
	}
	if _, err := s.Blob(Hash{1}); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown blob: %v", err)
	}
	if _, err := s.Settings(Hash{1}); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown settings: %v", err)
	}
}

// incompressible returns bytes that zstd makes nothing of.
func incompressible(n int) []byte {
	b := make([]byte, n)
	x := uint64(88172645463325252)
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return b
}

func TestLaunches(t *testing.T) {
	now := testTime
	s, err := Create(filepath.Join(t.TempDir(), "run.db"), Run{}, Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer closeSound(t, s)
	if _, ok, err := s.LastLaunch(); ok || err != nil {
		t.Errorf("a launch before the first: %v, %v", ok, err)
	}
	for want := 1; want <= 2; want++ {
		n, err := s.BeginLaunch(Launch{Version: "1.2", Host: "h", PID: 7, Flags: map[string]string{"model": "simulated"}, BatchSize: 10})
		if err != nil || n != want {
			t.Fatalf("launch %d, %v", n, err)
		}
		now = now.Add(time.Hour)
	}
	if err := s.EndLaunch(1, "interrupted"); err != nil {
		t.Fatal(err)
	}
	if err := s.EndLaunch(3, "complete"); !errors.Is(err, ErrNotFound) {
		t.Errorf("end of launch 3: %v", err)
	}
	all, err := s.Launches()
	if err != nil || len(all) != 2 {
		t.Fatalf("%d launches, %v", len(all), err)
	}
	if l := all[0]; l.End != "interrupted" || !l.Started.Equal(testTime) || !l.Ended.Equal(testTime.Add(2*time.Hour)) {
		t.Errorf("launch 1: %+v", l)
	}
	last, ok, err := s.LastLaunch()
	if err != nil || !ok || last.Number != 2 || last.End != "" || !last.Ended.IsZero() || last.Flags["model"] != "simulated" {
		t.Errorf("last launch: %+v, %v, %v", last, ok, err)
	}
}
