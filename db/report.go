package db

import (
	"fmt"
	"io"
)

// Print writes the report for people. It returns ErrDamaged if the check found
// problems.
func (r Report) Print(w io.Writer) error {
	fmt.Fprintf(w, "%d prompts, %d sessions, %d steps, %d outcomes, %d blobs, %.1f MB\n",
		r.Prompts, r.Sessions, r.Steps, r.Outcomes, r.Blobs, float64(r.Bytes)/1e6)
	for _, problem := range r.Problems {
		fmt.Fprintln(w, "problem:", problem)
	}
	if r.Found == 0 {
		fmt.Fprintln(w, "sound")
		return nil
	}
	return damaged("%d problems", r.Found)
}
