package figures

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
		if m, s := Median(tt.samples), Spread(tt.samples); m != tt.median || s != tt.spread {
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
		if got := Quantile(tt.sorted, tt.part); got != tt.want {
			t.Errorf("quantile %v of %d values is %d, want %d", tt.part, len(tt.sorted), got, tt.want)
		}
	}
}

func TestTargets(t *testing.T) {
	for _, tt := range []struct {
		target  Target
		value   float64
		text    string
		verdict string
	}{
		{Less(), 3, "", ""},
		{More(), 3, "", ""},
		{AtMost(1.1), 1.1, "≤ 1.1", "met"},
		{AtMost(1.1), 1.11, "≤ 1.1", "missed"},
		{AtLeast(100), 100, "≥ 100", "met"},
		{AtLeast(100), 99, "≥ 100", "missed"},
		{AtMost(0), 0, "≤ 0", "met"},
		{AtMost(0), 1, "≤ 0", "missed"},
	} {
		if tt.target.String() != tt.text || tt.target.Verdict(tt.value) != tt.verdict {
			t.Errorf("%+v at %v: %q, %q", tt.target, tt.value, tt.target, tt.target.Verdict(tt.value))
		}
	}
}

func TestReport(t *testing.T) {
	var r Results
	wall := Metric{"Wall/workers=4", "wall ÷ ideal", "wall/ideal", AtMost(1.1)}
	rate := Metric{"Render", "rendered", "MB/s", More()}
	for _, v := range []float64{1, 1.2, 1.05} {
		r.Add("this", wall, v)
		r.Add("other", wall, 2*v)
	}
	r.Add("this", rate, 150)
	var out bytes.Buffer
	Report{Machine: Machine{CPU: "Some CPU"}, Programs: []string{"this", "other"}, Figures: r.Figures()}.Print(&out)
	for _, want := range []string{
		"figure        value  other  ratio  unit        spread  target  \n",
		"wall ÷ ideal  1.05   2.1    0.50   wall/ideal  19 %    ≤ 1.1   met\n",
		"rendered      150                  MB/s                        \n",
		"\ncpu: Some CPU\n", "\nUnit MB/s better=higher\n",
		"\nprogram: this\nBenchmarkWall/workers=4 1 1 wall/ideal\nBenchmarkWall/workers=4 1 1.2 wall/ideal\n",
		"\nprogram: other\nBenchmarkWall/workers=4 1 2 wall/ideal\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestReadingOfTheSystem(t *testing.T) {
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

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.12345: "0.123", 1.1: "1.1", 99.96: "100", 123.45: "123.5", 1000: "1,000", 14_000: "14,000", 1234567.8: "1,234,568", -4000: "-4,000"} {
		if got := Short(v); got != want {
			t.Errorf("%v is printed as %s, want %s", v, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 workers", 1: "1 worker", 2000: "2,000 workers", 1_000_000: "1,000,000 workers"} {
		if got := Count(n, "worker"); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// Scenarios that are measured later join those of before, in one file.
func TestMerge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "figures.json")
	here := Machine{CPU: "Some CPU", Cores: 2}
	measure := func(m Machine, scenario string, values map[string]float64) error {
		var r Results
		r.Begin(scenario, "go run . -only "+scenario)
		for _, name := range slices.Sorted(maps.Keys(values)) {
			r.Add(This, Metric{Name: name, Unit: "ms", Target: AtMost(5)}, values[name])
		}
		return Report{Machine: m, Programs: []string{This}, Figures: r.Figures()}.Merge(path)
	}
	for _, err := range []error{
		measure(here, "one", map[string]float64{"A": 1, "B": 2}),
		measure(here, "two", map[string]float64{"C": 3}),
		measure(here, "one", map[string]float64{"A": 10, "D": 4}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.Figures {
		got = append(got, fmt.Sprintf("%s %s %v %s %s", f.Scenario, f.Name, f.Median[This], f.Held(), f.Verdict))
	}
	want := []string{"one A 10 ≤ 5 missed", "one D 4 ≤ 5 met", "one B 2 ≤ 5 met", "two C 3 ≤ 5 met"}
	if !slices.Equal(got, want) {
		t.Errorf("merged:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if err := measure(Machine{CPU: "Some CPU", Cores: 4}, "two", map[string]float64{"C": 1}); err == nil {
		t.Error("figures of another machine were merged")
	}
}
