package figures

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"text/tabwriter"
)

// Report is what a measuring program found.
type Report struct {
	Machine  Machine  `json:"machine"`
	Programs []string `json:"programs"`
	Figures  []Figure `json:"figures"`
}

// Print prints a table and, after an empty line, a line for each sample that
// benchstat reads.
func (r Report) Print(w io.Writer) {
	r.Table(w)
	fmt.Fprintln(w)
	r.Lines(w)
}

// Table prints the figures for readers. Spread tells how far samples lie
// apart.
func (r Report) Table(w io.Writer) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	both := len(r.Programs) > 1
	head := "figure\tvalue\tunit\tspread\ttarget\t\n"
	if both {
		head = "figure\tvalue\tother\tratio\tunit\tspread\ttarget\t\n"
	}
	fmt.Fprint(out, head)
	for _, f := range r.Figures {
		fmt.Fprintf(out, "%s\t%s\t", f.What, shortOf(f.Median, This))
		if both {
			ratio := ""
			if f.Ratio != 0 {
				ratio = fmt.Sprintf("%.2f", f.Ratio)
			}
			fmt.Fprintf(out, "%s\t%s\t", shortOf(f.Median, Other), ratio)
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", f.Unit, f.spread(), f.Held(), f.Verdict)
	}
	out.Flush()
}

func shortOf(medians map[string]float64, program string) string {
	if v, ok := medians[program]; ok {
		return Short(v)
	}
	return ""
}

// Lines prints what benchstat reads.
func (r Report) Lines(w io.Writer) {
	fmt.Fprintf(w, "goos: %s\ngoarch: %s\npkg: hermes-batch\ncpu: %s\n", runtime.GOOS, runtime.GOARCH, r.Machine.CPU)
	units := map[string]bool{}
	for _, f := range r.Figures {
		if f.Better == "higher" && !units[f.Unit] {
			units[f.Unit] = true
			fmt.Fprintf(w, "Unit %s better=higher\n", f.Unit)
		}
	}
	for _, p := range r.Programs {
		if len(r.Programs) > 1 {
			fmt.Fprintf(w, "program: %s\n", p)
		}
		for _, f := range r.Figures {
			for _, v := range f.Samples[p] {
				fmt.Fprintf(w, "Benchmark%s 1 %.6g %s\n", f.Name, v, f.Unit)
			}
		}
	}
}

// Load reads a report that was saved. The error of a missing file is
// fs.ErrNotExist.
func Load(path string) (r Report, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("read %s: %w", path, err)
	}
	return r, nil
}

// Save writes the report as JSON.
func (r Report) Save(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// Merge writes the report into a file that may hold figures already. Those
// that were not measured anew are kept, so that scenarios can be measured one
// by one; the facts of the machine become those of this report. Figures of
// another machine are refused.
func (r Report) Merge(path string) error {
	old, err := Load(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r.Save(path)
	case err != nil:
		return err
	case old.Machine.CPU != r.Machine.CPU || old.Machine.Cores != r.Machine.Cores:
		return fmt.Errorf("%s holds figures of %d × %s, not of this machine", path, old.Machine.Cores, old.Machine.CPU)
	}
	r.Figures = merge(old.Figures, r.Figures)
	return r.Save(path)
}

// merge keeps scenarios in their old order, new ones last; in each the new
// figures stand before those that are only old.
func merge(old, fresh []Figure) (list []Figure) {
	known := map[string]bool{}
	for _, f := range fresh {
		known[f.Name] = true
	}
	added := map[string]bool{}
	for _, scenario := range append(scenariosOf(old), scenariosOf(fresh)...) {
		if added[scenario] {
			continue
		}
		added[scenario] = true
		for _, f := range fresh {
			if f.Scenario == scenario {
				list = append(list, f)
			}
		}
		for _, f := range old {
			if f.Scenario == scenario && !known[f.Name] {
				list = append(list, f)
			}
		}
	}
	return list
}

func scenariosOf(figures []Figure) (names []string) {
	for _, f := range figures {
		names = append(names, f.Scenario)
	}
	return names
}
