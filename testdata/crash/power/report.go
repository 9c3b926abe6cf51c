package power

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Report is what came of a Run.
type Report struct {
	Seed       uint64
	States     int // of the disk that were looked at
	Opened     int // different contents of stores among them
	Phases     map[string]Count
	Resumes    int // states that the program checked and went on from
	Violations []Violation
	Controls   []Control
	Recording  string // folder that is kept because of violations or an error
	Took       time.Duration
}

// Count is the states of one phase.
type Count struct{ States, Violations int }

// Violation is a state that the program must not leave. Config.Recording and
// Config.Only show it again.
type Violation struct {
	State    int
	Scenario string
	Phase    string
	Line     int    // of the recording, after which the power was cut
	How      string // what became of what was not synced
	What     string
}

func (v Violation) String() string {
	return fmt.Sprintf("state %d (%s, %s, line %d, %s): %s", v.State, v.Scenario, v.Phase, v.Line, v.How, v.What)
}

// Control is a look at the same recording with less than the program did for
// durability. It has to find violations.
type Control struct {
	Name       string
	States     int
	Violations int
	Damaged    int // of them: a store that does not open or contradicts itself
}

// Passed tells whether nothing is wrong and the controls were caught.
func (r Report) Passed() bool {
	for _, c := range r.Controls {
		if c.Violations == 0 {
			return false
		}
	}
	return len(r.Violations) == 0 && len(r.Controls) > 0
}

// shown is how many violations Print lists.
const shown = 20

// Print writes the report for people.
func (r Report) Print(out io.Writer) {
	fmt.Fprintf(out, "%d states, %d different stores opened, %d resumed, seed %d, %.1f s\n", r.States, r.Opened, r.Resumes, r.Seed, r.Took.Seconds())
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "phase\tstates\tviolations\n")
	for _, p := range phases {
		fmt.Fprintf(w, "%s\t%d\t%d\n", p, r.Phases[p].States, r.Phases[p].Violations)
	}
	for _, c := range r.Controls {
		fmt.Fprintf(w, "control: %s\t%d\t%d\t%d damaged stores\n", c.Name, c.States, c.Violations, c.Damaged)
	}
	w.Flush()
	for i, v := range r.Violations {
		if i == shown {
			fmt.Fprintf(out, "and %d more\n", len(r.Violations)-shown)
			break
		}
		fmt.Fprintln(out, v)
	}
	if r.Recording != "" {
		fmt.Fprintf(out, "recording: %s\n", r.Recording)
	}
}
