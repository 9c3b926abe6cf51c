package tools

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// List prints distributions as a table of percents, and below it what the toolsets in it lack.
func List(w io.Writer, ds []Distribution, sets []Toolset) error {
	var used []Toolset
	for _, s := range sets {
		if slices.ContainsFunc(ds, func(d Distribution) bool { return d.percent(s.Name) > 0 }) {
			used = append(used, s)
		}
	}
	if _, err := fmt.Fprintln(w, percentTable(ds, used)); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nChance of each toolset in percent, drawn independently; if none comes up, the most probable one is taken.")
	for _, s := range used {
		if lacks := s.Lacks(); lacks != "" {
			if _, err := fmt.Fprintf(w, "%s: not in this version: needs %s\n", s.Name, lacks); err != nil {
				return err
			}
		}
	}
	return nil
}

// percentTable has a line for each distribution: its name, a number for each toolset, and what it
// is for.
func percentTable(ds []Distribution, used []Toolset) string {
	header := []string{"distribution"}
	for _, s := range used {
		header = append(header, s.Name)
	}
	rows := [][]string{append(header, "for")}
	for _, d := range ds {
		row := []string{d.Name}
		for _, s := range used {
			cell := "-"
			if p := d.percent(s.Name); p > 0 {
				cell = strconv.FormatFloat(p, 'f', -1, 64)
			}
			row = append(row, cell)
		}
		rows = append(rows, append(row, d.About))
	}
	return aligned(rows)
}

// aligned puts rows of cells below each other, two spaces apart, numbers to the right: all columns
// but the first and the last.
func aligned(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		last := len(row) - 1
		line := fmt.Sprintf("%-*s", widths[0], row[0])
		for i, cell := range row[1:last] {
			line += fmt.Sprintf("  %*s", widths[i+1], cell)
		}
		b.WriteString(strings.TrimRight(line+"  "+row[last], " ") + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// percent is the chance of a toolset, 0 if the distribution does not name it.
func (d Distribution) percent(toolset string) float64 {
	for _, c := range d.Chances {
		if c.Toolset == toolset {
			return c.Percent
		}
	}
	return 0
}
