package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"text/tabwriter"
)

// report is what the harness found.
type report struct {
	Machine  machine  `json:"machine"`
	Programs []string `json:"programs"`
	Figures  []figure `json:"figures"`
}

func (r report) print(w io.Writer) {
	r.table(w)
	fmt.Fprintln(w)
	r.lines(w)
}

// table is for readers. Spread tells how far samples lie apart.
func (r report) table(w io.Writer) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	both := len(r.Programs) > 1
	head := "figure\tvalue\tunit\tspread\ttarget\t\n"
	if both {
		head = "figure\tvalue\tother\tratio\tunit\tspread\ttarget\t\n"
	}
	fmt.Fprint(out, head)
	for _, f := range r.Figures {
		fmt.Fprintf(out, "%s\t%s\t", f.What, shortOf(f.Median, "this"))
		if both {
			ratio := ""
			if f.Ratio != 0 {
				ratio = fmt.Sprintf("%.2f", f.Ratio)
			}
			fmt.Fprintf(out, "%s\t%s\t", shortOf(f.Median, "other"), ratio)
		}
		fmt.Fprintf(out, "%s\t%.0f %%\t%s\t%s\n", f.Unit, 100*f.Spread["this"], f.target, f.Verdict)
	}
	out.Flush()
}

func shortOf(medians map[string]float64, program string) string {
	if v, ok := medians[program]; ok {
		return short(v)
	}
	return ""
}

// lines are for benchstat: one for each sample.
func (r report) lines(w io.Writer) {
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

func (r report) save(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
