package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes-batch/export"
	"hermes-batch/testdata/figures"
	"hermes-batch/testdata/shipped"
)

type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// A soak in small: everything that can go wrong does so more often, and the
// program is killed once, terminated once, and then comes to its end.
func TestSoak(t *testing.T) {
	dir, err := shipped.Folder("", "soak-") // a short name: sockets lie in it
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "hermes-batch")
	if err := shipped.Build(t.Context(), binary); err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano()) % 1_000_000
	t.Logf("seed %d", seed)
	s, err := newSoak(dir, binary, size{time: 8 * time.Second, kill: 4 * time.Second, workers: 24, prompts: 4000, promptTimeout: 2 * time.Minute,
		chaos: chaos{seed: seed, faults: 0.3, odd: 0.3, latency: 20 * time.Millisecond, limit: 3 * time.Second, outages: 3 * time.Second},
	}, slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return k.slow }), testLog{t})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.run(t.Context()); err != nil || len(s.wrong) > 0 {
		t.Fatalf("%d violations, %v", len(s.wrong), err)
	}
	if s.deaths != 1 || s.lives != 3 || s.found.Total < len(s.deal.kinds) || s.found.Kept == 0 || s.found.Failed == 0 || s.reads.Load() == 0 || len(s.samples) == 0 {
		t.Errorf("it did too little: %d deaths, %d processes, %+v, %d reads, %d samples", s.deaths, s.lives, s.found, s.reads.Load(), len(s.samples))
	}
	for _, f := range faults {
		if f.reason != "" && f.reason != "timeout" && s.end.met[f.name] == 0 {
			t.Errorf("nobody met the fault %q", f.name)
		}
	}
	var results figures.Results
	s.figures(&results, "soak")
	for _, f := range results.Figures() {
		if f.Name == "SoakViolations" && f.Verdict != "met" {
			t.Errorf("a figure is %+v", f)
		}
	}
	t.Run("oracle", func(t *testing.T) { testOracle(t, s) })
}

// testOracle harms a run with which nothing is wrong, and sees whether that is
// noticed.
func testOracle(t *testing.T, s *soak) {
	change := func(name string, edit func([]byte) []byte) func() (undo func()) {
		return func() func() {
			path := s.folder(name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			put(t, path, edit(bytes.Clone(text)))
			return func() { put(t, path, text) }
		}
	}
	add := func(path string) func() (undo func()) {
		return func() func() {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			put(t, path, nil)
			return func() { os.Remove(path) }
		}
	}
	number := s.scripted(t)
	word := fmt.Sprintf("Prompt %d is done.", number)
	k := s.deal.kind(number)
	for _, tt := range []struct {
		name string
		harm func() (undo func())
		want string
	}{
		{"nothing", func() func() { return func() {} }, ""},
		{"a row is lost", change("trajectories.jsonl", func(b []byte) []byte { return b[bytes.IndexByte(b, '\n')+1:] }), "trajectories.jsonl: has"},
		{"an answer is empty", change("trajectories.jsonl", func(b []byte) []byte { return bytes.Replace(b, []byte(word), []byte(" "), 1) }), "empty success"},
		{"an answer is another prompt's", change("trajectories.jsonl", func(b []byte) []byte {
			return bytes.Replace(b, []byte(word), []byte("Prompt 0 is done."), 1)
		}), "does not say"},
		{"a result is nobody's", change("trajectories.jsonl", func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"tool_call_id":"`), []byte(`"tool_call_id":"x`), 1)
		}), "results are due"},
		{"a failed prompt is nowhere", change("errors.jsonl", func([]byte) []byte { return nil }), "errors.jsonl: has 0 prompts"},
		{"a finished prompt is not complete", change("checkpoint.json", func(b []byte) []byte {
			return bytes.Replace(b, []byte(`[0,`), []byte(`[`), 1)
		}), "that are finished"},
		{"a count", change("statistics.json", func(b []byte) []byte {
			return regexp.MustCompile(`"kept": \d+`).ReplaceAll(b, []byte(`"kept": 1`))
		}), "statistics.json: counts"},
		{"a byte of the Parquet copy", change("trajectories.parquet", func(b []byte) []byte { b[len(b)/2] ^= 1; return b }), "not what the store renders"},
		{"a temporary file", add(s.folder(".batch_0.jsonl.tmp")), "is left"},
		{"a socket", add(filepath.Join(s.temporary(), "hermes-batch-x")), "are left"},
		{"a work folder", add(filepath.Join(s.dir, "state", "x", fmt.Sprintf("%d-0-a0", number))), "is left"},
		{"another end", func() func() {
			was := k.end
			k.end = "failed panic"
			return func() { k.end = was }
		}, "ended as"},
		{"turns are answered again", func() func() {
			h := s.end.turns[place{number, 0}]
			h.whole += 1000
			return func() { h.whole -= 1000 }
		}, "turns were answered again"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer tt.harm()()
			s.wrong, s.log = nil, &bytes.Buffer{}
			if err := s.examine(); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(s.wrong, "\n"); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("it says %q, not %q", got, tt.want)
			}
		})
	}
}

// scripted is the number of a prompt that the scripted model has answered.
func (s *soak) scripted(t *testing.T) int {
	t.Helper()
	all, err := s.outcomes()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range all.of(export.Kept) {
		if k := s.deal.kind(n); k.name == "state of the shell" {
			return n
		}
	}
	t.Fatal("none is kept")
	return 0
}

func ask(ctx context.Context, url, prompt string) (status int, err error) {
	body := strings.NewReader(string(encode(map[string]any{"messages": []any{map[string]any{"role": "user", "content": prompt}}})))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/chat/completions", body)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

func put(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// What a prompt met explains how it ended, or does not.
func TestExplanations(t *testing.T) {
	met := func(names ...string) (list []*fault) {
		for _, name := range names {
			list = append(list, faultNamed(name))
		}
		return list
	}
	six := []string{"reset", "reset", "late", "reset", "status 500", "reset", "rate limit", "page 502"}
	sound, failing := &kind{end: answered}, &kind{end: "failed empty_reply"}
	for _, tt := range []struct {
		kind    *kind
		met     []*fault
		end     string
		refused bool
		want    bool
	}{
		{sound, met(six...), "failed server", false, true},
		{sound, met(six...), "failed network", false, false},
		{sound, met(six[1:]...), "failed server", false, false},
		{sound, met("reset", "reset", "reset"), "failed network", true, true},
		{sound, met("reset", "reset", "reset"), "failed network", false, false},
		{sound, met(cutCall, cutCall, "reset", cutCall), "partial cut_replies", false, true},
		{sound, met(cutCall, cutCall), "partial cut_replies", false, false},
		{sound, nil, "failed server", true, false},
		{failing, met("reset"), "failed network", false, true},
		{failing, met("late"), "failed network", true, true},
		{sound, met("reset", "reset", "status 500"), "failed server", true, true},
		{sound, met("reset", "reset", "status 500"), "failed server", false, false},
		{failing, met("late"), "failed network", false, false},
		{failing, met("reset"), "failed server", false, false},
	} {
		if got := tt.kind.explains(tt.met, tt.end, tt.refused); got != tt.want {
			t.Errorf("%q after %q (refused: %t): %t", tt.end, namesOf(tt.met), tt.refused, got)
		}
	}
}

// The ends of two quarters are compared, whatever was in between.
func TestGrowth(t *testing.T) {
	s := &soak{size: size{time: 40 * time.Second}, end: &endpoint{requests: 1}}
	for at := range 60 {
		x := sample{at: time.Duration(at) * time.Second, anonymous: 50e6, descriptors: 10 + at, done: at}
		if at >= 20 && at < 30 {
			x.anonymous = 900e6
		}
		if at >= 30 {
			x.anonymous = 60e6
		}
		s.samples = append(s.samples, x)
	}
	var results figures.Results
	s.figures(&results, "soak")
	for _, f := range results.Figures() {
		switch f.Name {
		case "SoakMemoryGrowth":
			if got := f.Median[figures.This]; got != 1.2 || f.Verdict != "missed" || !strings.Contains(f.What, "last 10s ÷ that from 10s to 20s") {
				t.Errorf("%s: %v, %s", f.What, got, f.Verdict)
			}
		case "SoakMemory":
			if got := f.Samples[figures.This]; !slices.Equal(got, []float64{50, 50, 900, 60}) {
				t.Errorf("memory %v", got)
			}
		case "SoakRate":
			if got := f.Samples[figures.This]; !slices.Equal(got, []float64{0.9, 1, 1, 1}) {
				t.Errorf("rates %v", got)
			}
		}
	}
}

// A door that is shut refuses, and lets in again who comes later.
func TestDoor(t *testing.T) {
	m, err := newModel(newDealer(1, kinds))
	if err != nil {
		t.Fatal(err)
	}
	e, err := startEndpoint(chaos{seed: 1, latency: time.Millisecond, outages: time.Hour}, m)
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	status := func() (int, error) { return ask(ctx, e.url, "0: What is 0 * 17?") }
	if code, err := status(); err != nil || code != 200 {
		t.Fatal(code, err)
	}
	e.server.SetKeepAlivesEnabled(false)
	open := make(chan error)
	go func() { open <- e.door.shut(100 * time.Millisecond) }()
	for {
		if _, err := status(); err != nil && strings.Contains(err.Error(), "refused") {
			break
		}
		if ctx.Err() != nil {
			t.Fatal("nobody was refused")
		}
	}
	if err := <-open; err != nil {
		t.Fatal(err)
	}
	if code, err := status(); err != nil || code != 200 {
		t.Errorf("after the outage: %d, %v", code, err)
	}
}
