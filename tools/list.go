package tools

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
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
			if _, err := fmt.Fprintf(w, "%s: %s\n", s.Name, lacks); err != nil {
				return err
			}
		}
	}
	return nil
}

func percentTable(ds []Distribution, used []Toolset) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleDefault)
	style := t.Style()
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = text.FormatDefault
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	t.SuppressTrailingSpaces()

	header := table.Row{"distribution"}
	var configs []table.ColumnConfig
	for i, s := range used {
		header = append(header, s.Name)
		configs = append(configs, table.ColumnConfig{Number: i + 2, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(append(header, "for"))
	for _, d := range ds {
		line := table.Row{d.Name}
		for _, s := range used {
			cell := "-"
			if p := d.percent(s.Name); p > 0 {
				cell = strconv.FormatFloat(p, 'f', -1, 64)
			}
			line = append(line, cell)
		}
		t.AppendRow(append(line, d.About))
	}
	return t.Render()
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
