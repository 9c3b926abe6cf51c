package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"hermes-batch/testdata/figures"
)

func TestIdeal(t *testing.T) {
	l := trial{workers: 64, prompts: 1024, turns: 3, latency: 50 * time.Millisecond}
	if got, want := l.ideal(), 2400*time.Millisecond; got != want {
		t.Errorf("1,024 prompts of three calls of 50 ms by 64 workers: %v, want %v", got, want)
	}
	if got := (usage{processor: 3 * time.Second}).perPrompt(1000); got != 3 {
		t.Errorf("3 s for 1,000 prompts are %v ms each", got)
	}
}

func TestReadingOfTheSystem(t *testing.T) {
	if got := anonymous("VmRSS:\t  9000 kB\nRssAnon:\t    2048 kB\nRssFile:\t 3 kB\n"); got != 2048<<10 {
		t.Errorf("anonymous memory %d", got)
	}
	if got := anonymous("State:\tZ (zombie)\n"); got != 0 {
		t.Errorf("anonymous memory of a process that ended: %d", got)
	}
	if got := writtenIn("rchar: 5\nwchar: 123456\nsyscw: 9\nwrite_bytes: 8192\n"); got != 123456 {
		t.Errorf("written %d", got)
	}
}

func TestTurnsHaveFourKilobytes(t *testing.T) {
	turns := turnsOf(2)
	for _, turn := range turns {
		var reply struct {
			Choices []struct {
				Message struct{ Content, Reasoning string }
			}
		}
		if err := json.Unmarshal(turn.Raw, &reply); err != nil {
			t.Fatal(err)
		}
		said := reply.Choices[0].Message
		if said.Content != turn.Entry.Value || said.Reasoning != turn.Entry.Reasoning || len(said.Content)+len(said.Reasoning) != 4096 {
			t.Errorf("entry and reply differ: %d and %d bytes", len(said.Content), len(said.Reasoning))
		}
	}
	if turns[0].Entry.Value == turns[1].Entry.Value {
		t.Error("two turns say the same")
	}
}

func TestMain(m *testing.M) {
	if n := os.Getenv(bareKey); n != "" {
		beBare(n)
	}
	os.Exit(m.Run())
}

// All scenarios, with next to no work.
func TestScenarios(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the program")
	}
	dir := t.TempDir()
	o := options{json: filepath.Join(dir, "figures.json"), dir: dir}
	small := sizes{
		samples: 1, loads: []load{{workers: 4, prompts: 8, latency: time.Millisecond, wall: figures.AtMost(1)}},
		commands: 2, scale: scale{workers: []int{1, 3}, latency: time.Millisecond, rounds: 2, atOnce: 4}, prompts: []int{5},
		turns: []int{1, 3}, talk: 4, payload: []int{40 << 10}, fresh: []int{4}, writers: []int{2}, writing: 20 * time.Millisecond, rendered: 4, finished: []int{3, 6},
	}
	var out, log bytes.Buffer
	if err := o.run(t.Context(), small, &out, &log); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	text, err := os.ReadFile(o.json)
	if err != nil {
		t.Fatal(err)
	}
	var r figures.Report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if r.Machine.Cores == 0 || r.Machine.Sync == 0 || len(r.Programs) != 1 {
		t.Errorf("machine %+v, programs %v", r.Machine, r.Programs)
	}
	for _, f := range r.Figures {
		if f.Median["this"] <= 0 || len(f.Samples["this"]) == 0 || (f.Target != nil) != (f.Verdict != "") {
			t.Errorf("figure %+v", f)
		}
	}
	lines := regexp.MustCompile(`(?m)^Benchmark\S+ 1 \S+ \S+$`).FindAllString(out.String(), -1)
	if samples := len(lines); len(r.Figures) < 20 || samples < len(r.Figures) {
		t.Errorf("%d figures, %d lines:\n%s", len(r.Figures), samples, out.String())
	}
	left, err := filepath.Glob(filepath.Join(dir, "hermes-bench-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestUnknownScenariosAreRefused(t *testing.T) {
	var out bytes.Buffer
	err := (&options{only: "nothing"}).run(t.Context(), sizes{}, &out, &out)
	if err == nil || !strings.HasSuffix(err.Error(), strings.Join(names(), ", ")) || out.Len() > 0 {
		t.Errorf("error %v, output %q", err, &out)
	}
}
