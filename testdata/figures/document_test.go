package figures

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func measured() Reports {
	var r Results
	r.Commit = "abc1234"
	r.Begin("speed", "go run ./x -only speed")
	r.Add(This, Metric{Name: "Wall", What: "wall ÷ ideal", Unit: "wall/ideal", Target: AtMost(1.1)}, 1.234)
	r.Add(This, Metric{Name: "Cost", What: "  processor | all", Unit: "ms"}, 2500)
	r.Begin("size", "go run ./x -only size")
	r.Add(This, Metric{Name: "Size", What: "size", Unit: "MB", Target: AtMost(2)}, 1)
	figures := r.Figures()
	for i := range figures {
		figures[i].At = time.Date(2026, 11, 29, 12, 0, i, 0, time.UTC)
	}
	return Reports{"bench": {Machine: Machine{CPU: "Some CPU", Cores: 2}, Programs: []string{This}, Figures: figures}}
}

func TestFill(t *testing.T) {
	const document = `# Title

<!-- machine bench -->
old
<!-- end -->

<!-- figures bench:speed bench:Size -->
old
<!-- end -->
between
<!-- rows bench:Cost
	bench:Size -->
<!-- end -->
`
	const want = `
<!-- figures bench:speed bench:Size -->

| figure | median | unit | spread | target | |
|---|--:|---|--:|---|---|
| wall ÷ ideal | 1.23 | wall/ideal |  | ≤ 1.1 | missed |
| – processor \| all | 2,500 | ms |  |  |  |

` + "`go run ./x -only speed`, commit abc1234, 2026-11-29" + `

| figure | median | unit | spread | target | |
|---|--:|---|--:|---|---|
| size | 1 | MB |  | ≤ 2 | met |

` + "`go run ./x -only size`, commit abc1234, 2026-11-29" + `

<!-- end -->
between
<!-- rows bench:Cost
	bench:Size -->

| figure | value | target |
|---|---|---|
| processor \| all | 2,500 ms |  |
| size | 1 MB | ≤ 2, met |

<!-- end -->
`
	filled, told, err := measured().Fill(document)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(filled, want) || !strings.Contains(filled, "2 × Some CPU") || strings.Contains(filled, "old") {
		t.Errorf("filled:\n%s", filled)
	}
	if got := slices.Sorted(maps.Keys(told)); !slices.Equal(got, []string{"bench:size", "bench:speed"}) || !told["bench:speed"] {
		t.Errorf("told %v", told)
	}
	again, _, err := measured().Fill(filled)
	if err != nil || again != filled {
		t.Errorf("filled again, %v:\n%s", err, again)
	}
	if _, _, err := measured().Fill("<!-- rows bench:None -->\n<!-- end -->\n"); err == nil {
		t.Error("figures that are not there were shown")
	}
	if later, _, err := measured().Fill("<!-- figures crash -->\n<!-- end -->\n"); err != nil || !strings.Contains(later, "Not measured yet.") {
		t.Errorf("figures to come: %v, %s", err, later)
	}
}

// The documents show what the files of figures say, and leave none out.
func TestDocuments(t *testing.T) {
	all, err := LoadAll(".")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, name := range []string{"README.md", "BENCHMARKS.md"} {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		var filled string
		if filled, told, err = all.Fill(string(text)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if filled != string(text) {
			t.Errorf("%s does not show the figures of testdata/figures: go run ./testdata/bench -publish", name)
		}
	}
	for file, report := range all {
		for _, f := range report.Figures {
			if !told[file+":"+f.Scenario] {
				t.Errorf("BENCHMARKS.md has no table for %s:%s", file, f.Scenario)
			}
		}
	}
}
