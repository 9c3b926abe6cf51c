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
)

func TestMedianAndSpread(t *testing.T) {
	for _, tt := range []struct {
		samples        []float64
		median, spread float64
	}{
		{nil, 0, 0},
		{[]float64{5}, 5, 0},
		{[]float64{3, 1, 2}, 2, 1},
		{[]float64{4, 1, 3, 2}, 2.5, 1.2},
		{[]float64{0, 0}, 0, 0},
	} {
		if m, s := median(tt.samples), spread(tt.samples); m != tt.median || s != tt.spread {
			t.Errorf("%v: median %v, spread %v; want %v, %v", tt.samples, m, s, tt.median, tt.spread)
		}
	}
}

func TestQuantile(t *testing.T) {
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = i + 1
	}
	for _, tt := range []struct {
		sorted []int
		part   float64
		want   int
	}{
		{nil, 0.5, 0}, {[]int{7}, 0.5, 7}, {[]int{7}, 0.99, 7}, {[]int{1, 2}, 0.5, 1}, {[]int{1, 2}, 0.51, 2},
		{hundred, 0, 1}, {hundred, 0.5, 50}, {hundred, 0.99, 99}, {hundred, 1, 100},
	} {
		if got := quantile(tt.sorted, tt.part); got != tt.want {
			t.Errorf("quantile %v of %d values is %d, want %d", tt.part, len(tt.sorted), got, tt.want)
		}
	}
}

func TestTargets(t *testing.T) {
	for _, tt := range []struct {
		target  bound
		value   float64
		text    string
		verdict string
	}{
		{bound{}, 3, "", ""},
		{more(), 3, "", ""},
		{atMost(1.1), 1.1, "≤ 1.1", "met"},
		{atMost(1.1), 1.11, "≤ 1.1", "missed"},
		{atLeast(100), 100, "≥ 100", "met"},
		{atLeast(100), 99, "≥ 100", "missed"},
	} {
		if tt.target.String() != tt.text || tt.target.verdict(tt.value) != tt.verdict {
			t.Errorf("%+v at %v: %q, %q", tt.target, tt.value, tt.target, tt.target.verdict(tt.value))
		}
	}
}

func TestIdeal(t *testing.T) {
	l := load{workers: 64, prompts: 1024, latency: 50 * time.Millisecond}
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
	if got := field("processor\t: 0\nmodel name\t: Some CPU @ 2: x\nmodel name\t: other\n", "model name"); got != "Some CPU @ 2: x" {
		t.Errorf("field %q", got)
	}
	mounts := "/dev/a / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/b /tmp/x xfs rw 0 0\nproc /proc proc rw 0 0\n"
	for dir, want := range map[string]string{"/home/a": "ext4", "/tmp/y": "tmpfs", "/tmp/x": "xfs", "/tmp/xy": "tmpfs", "/tmp": "tmpfs"} {
		if got := fileSystem(mounts, dir); got != want {
			t.Errorf("%s lies on %s, want %s", dir, got, want)
		}
	}
}

func TestEnvironmentIsClean(t *testing.T) {
	got := environment([]string{"PATH=/bin", "HERMES_BATCH_MODEL=x", "OPENAI_API_KEY=k", "HOME=/h"})
	if strings.Join(got, " ") != "PATH=/bin HOME=/h" {
		t.Errorf("environment %v", got)
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

func TestReport(t *testing.T) {
	var r results
	wall := metric{"Wall/workers=4", "wall ÷ ideal", "wall/ideal", atMost(1.1)}
	rate := metric{"Render", "rendered", "MB/s", more()}
	for _, v := range []float64{1, 1.2, 1.05} {
		r.add("this", wall, v)
		r.add("other", wall, 2*v)
	}
	r.add("this", rate, 150)
	var out bytes.Buffer
	report{Machine: machine{CPU: "Some CPU"}, Programs: []string{"this", "other"}, Figures: r.figures()}.print(&out)
	for _, want := range []string{
		"figure        value  other  ratio  unit        spread  target  \n",
		"wall ÷ ideal  1.05   2.1    0.50   wall/ideal  19 %    ≤ 1.1   met\n",
		"rendered      150                  MB/s        0 %             \n",
		"\ncpu: Some CPU\n", "\nUnit MB/s better=higher\n",
		"\nprogram: this\nBenchmarkWall/workers=4 1 1 wall/ideal\nBenchmarkWall/workers=4 1 1.2 wall/ideal\n",
		"\nprogram: other\nBenchmarkWall/workers=4 1 2 wall/ideal\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// All scenarios, with next to no work.
func TestScenarios(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the program")
	}
	dir := t.TempDir()
	o := options{json: filepath.Join(dir, "figures.json"), dir: dir}
	small := sizes{
		samples: 1, loads: []load{{workers: 4, prompts: 8, latency: time.Millisecond, wall: atMost(1)}},
		commands: 2, fresh: []int{4}, writers: []int{2}, writing: 20 * time.Millisecond, rendered: 4, finished: []int{3, 6},
	}
	var out, log bytes.Buffer
	if err := o.run(t.Context(), small, &out, &log); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	text, err := os.ReadFile(o.json)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if r.Machine.Cores == 0 || r.Machine.Sync == 0 || len(r.Programs) != 1 {
		t.Errorf("machine %+v, programs %v", r.Machine, r.Programs)
	}
	for _, f := range r.Figures {
		if f.Median["this"] <= 0 || len(f.Samples["this"]) == 0 || (f.Target != 0) != (f.Verdict != "") {
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
