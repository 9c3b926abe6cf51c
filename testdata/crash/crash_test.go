package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hermes-batch/db"
	"hermes-batch/testdata/figures"
	"hermes-batch/testdata/shipped"
)

// scratch holds the binary, which all tests torment.
var scratch string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if scratch, err = os.MkdirTemp("", "crash-test-"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(scratch)
		return m.Run()
	}())
}

var built = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "hermes-batch")
	return path, shipped.Build(context.Background(), path)
})

func newTest(t *testing.T) *torment {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano()) % 1_000_000
	t.Logf("seed %d", seed)
	return newTorment(dir, path, seed, &testLog{t})
}

type testLog struct{ t *testing.T }

func (l *testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// Every scenario in small: nothing is lost, and what it counts shows that it
// did something.
func TestScenarios(t *testing.T) {
	small := map[string]scale{
		"kills":     {kills: 12, prompts: len(ways)},
		"sequences": {points: 5},
		"inject":    {points: 6},
		"full":      {points: 3, sizes: 12},
		"limits":    {points: 2},
		"oddities":  {prompts: len(ways), stop: 300 * time.Millisecond},
		"power":     {states: 300, short: true}, // its own tests do more
	}
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			if s.name == "inject" || s.name == "sequences" {
				mustTrace(t) // and alone: a tracer waits for all children of its thread
			} else {
				t.Parallel()
			}
			h := newTest(t)
			h.scale = small[s.name]
			if err := h.run(t.Context(), regexp.MustCompile("^"+s.name+"$")); err != nil {
				t.Error(err)
			}
			c := h.counts[0]
			if c.runs == 0 || c.turns == 0 && s.name != "power" || c.points < h.scale.points || c.deaths < h.scale.kills {
				t.Errorf("it did too little: %+v", c)
			}
			for _, note := range c.notes {
				t.Log(note)
			}
			var results figures.Results
			h.figures(&results, "crash")
			if f := results.Figures()[0]; f.Verdict != "met" || f.Median[figures.This] != 0 {
				t.Errorf("the first figure is %+v", f)
			}
			if list, err := os.ReadDir(h.dir); err != nil || len(list) > 0 {
				t.Errorf("%v is left in the folder (%v)", list, err)
			}
		})
	}
}

// mustTrace skips where system calls cannot be disturbed.
func mustTrace(t *testing.T) {
	t.Helper()
	if err := skipCall(0); err != nil && err != syscall.ESRCH {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// A blow lands where it is said to.
func TestBlows(t *testing.T) {
	mustTrace(t)
	h := newTest(t)
	for _, tt := range []struct {
		blow blow
		want string // in what the program says; "" if it is killed
		code int
	}{
		{blow{op: "sync", area: store, n: 1}, "", -1},
		{blow{op: "rename", area: files, n: 1, after: true}, "", -1},
		{blow{op: "sync", area: store, n: 9, errno: syscall.EIO}, "input/output error", exitStopped},
		{blow{op: "write", area: files, n: 1, on: true, errno: syscall.ENOSPC}, "no space left on device", exitStopped},
		{blow{op: "exec", n: 1, on: true, errno: syscall.ENOSPC}, "infrastructure", 1},
		{blow{op: "sync", n: 100_000}, "prompts", 0},
	} {
		s, err := h.site([]int{0}, 1)
		if err != nil {
			t.Fatal(err)
		}
		e, calls, err := s.traced(tt.blow)
		if err != nil || e.Code != tt.code || !strings.Contains(e.Text, tt.want) || tt.want == "" && (e.By != syscall.SIGKILL || len(calls) != tt.blow.n) {
			t.Errorf("%s: %v after %d calls, %v", tt.blow, e, len(calls), err)
		}
		if tt.blow.after { // was done, and nothing after it
			if list, _ := filepath.Glob(s.folder("batch_*")); len(list) != 1 {
				t.Errorf("%s: renamed were %q", tt.blow, list)
			}
		}
		s.leave()
	}
}

// The oracle sees it when something is lost, doubled, changed or left. A run
// that was killed passes; with each of these it does not.
func TestOracle(t *testing.T) {
	h := newTest(t)
	s, err := h.site(some(len(ways)), 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.leave)
	c, err := s.working(15)
	if err != nil {
		t.Fatal(err)
	}
	c.Kill()
	if err := s.died("killed"); err != nil {
		t.Fatal(err)
	}
	early := read(t, s.folder("run.db"))
	if err := s.complete("resumed"); err != nil || len(s.wrong) > 0 {
		t.Fatal(err, s.wrong)
	}
	change := func(name string, edit func([]byte) []byte) func() {
		return func() { write(t, s.folder(name), edit(read(t, s.folder(name)))) }
	}
	for _, tt := range []struct {
		name string
		harm func()
		want string
	}{
		{"nothing", func() {}, ""},
		{"a row is lost", change("trajectories.jsonl", func(b []byte) []byte { return b[bytes.IndexByte(b, '\n')+1:] }), "trajectories.jsonl line 1 differs"},
		{"a row is there twice", change("batch_0.jsonl", func(b []byte) []byte { return append(b, b[:bytes.IndexByte(b, '\n')+1]...) }), "batch_0.jsonl has 6 lines"},
		{"a letter of a row", change("batch_1.jsonl", func(b []byte) []byte { return bytes.Replace(b, []byte("answer"), []byte("onswer"), 1) }), "batch_1.jsonl line 1 differs"},
		{"a byte of the Parquet copy", change("trajectories.parquet", func(b []byte) []byte { b[len(b)/2] ^= 1; return b }), "trajectories.parquet is not what the store renders"},
		{"a prompt is counted nowhere", change("statistics.json", func(b []byte) []byte {
			return regexp.MustCompile(`"kept": \d+`).ReplaceAll(b, []byte(`"kept": 1`))
		}), "the counts do not add up"},
		{"a file is missing", func() { os.Remove(s.folder("checkpoint.json")) }, "checkpoint.json is missing"},
		{"a temporary file is left", func() { write(t, s.folder(".batch_0.jsonl.tmp"), nil) }, "has no file .batch_0.jsonl.tmp"},
		{"bytes of the store", change("run.db", func(b []byte) []byte {
			for i := range b {
				if i%4096 > 100 {
					b[i] ^= 0x55
				}
			}
			return b
		}), "check --deep"},
		{"the store is an old one", func() { write(t, s.folder("run.db"), early) }, "is lost"},
		{"a committed turn is asked for again", func() { ask(t, s, turn{fmt.Sprintf(ways[1], 1), 0}) }, "committed and asked for again"},
		{"a turn is asked for before the one before it is durable", func() { ask(t, s, turn{fmt.Sprintf(ways[1], 1), 7}) }, "turn 7 was asked for, and only"},
		{"a command ran twice", func() {
			line := read(t, s.outside("0"))
			write(t, s.outside("0"), append(slices.Clone(line), line...))
		}, "ran 2 times, with 0 reruns recorded"},
		{"a command ran elsewhere", func() { write(t, s.outside("0"), read(t, s.outside("6"))) }, "a command of prompt 0 ran in sandbox 6-0-a0"},
		{"a sandbox is left", func() {
			if err := os.MkdirAll(filepath.Join(s.dir, "state", "x", "0-0-a0"), 0o700); err != nil {
				t.Fatal(err)
			}
		}, "sandboxes are left"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			restore := save(t, s)
			tt.harm()
			if err := s.examine("now"); err != nil && tt.want == "" {
				t.Error(err)
			}
			if got := strings.Join(s.wrong, "\n"); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("the oracle says %q, not %q", got, tt.want)
			}
			restore()
		})
	}
}

// save returns what brings a site back to how it is now.
func save(t *testing.T, s *site) (restore func()) {
	all, err := depict(s.folder())
	if err != nil {
		t.Fatal(err)
	}
	all["run.db"] = read(t, s.folder("run.db"))
	trace := s.outside("0")
	line, sessions := read(t, trace), s.witness.sessions
	asked, answered := maps.Clone(s.model.asked), maps.Clone(s.model.answered)
	s.witness.sessions = map[db.Ordinal]*session{}
	for o, known := range sessions {
		copied := *known
		s.witness.sessions[o] = &copied
	}
	return func() {
		now, err := depict(s.folder())
		if err != nil {
			t.Fatal(err)
		}
		for name := range now {
			if _, ok := all[name]; !ok {
				os.Remove(s.folder(name))
			}
		}
		for name, text := range all {
			write(t, s.folder(name), text)
		}
		write(t, trace, line)
		os.RemoveAll(filepath.Join(s.dir, "state"))
		s.witness.sessions, s.wrong = sessions, nil
		s.model.mu.Lock()
		defer s.model.mu.Unlock()
		s.model.asked, s.model.answered = asked, answered
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// ask asks a site's model for a turn of a prompt.
func ask(t *testing.T, s *site, want turn) {
	t.Helper()
	body := fmt.Sprintf(`{"messages": [{"role": "user", "content": %q}%s]}`, want.prompt, strings.Repeat(`, {"role": "assistant", "content": "x"}`, want.n))
	resp, err := http.Post(s.model.url+"/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

func TestUnknownScenariosAreRefused(t *testing.T) {
	var out bytes.Buffer
	err := (&options{only: "nothing"}).run(t.Context(), &out, &out)
	if err == nil || !strings.HasSuffix(err.Error(), strings.Join(names(), ", ")) || out.Len() > 0 {
		t.Errorf("error %v, output %q", err, &out)
	}
}
