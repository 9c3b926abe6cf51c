package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"hermes-batch/testdata/figures"
)

// print tells what was done, in a table, and what else is worth knowing.
func (t *torment) print(w io.Writer) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(out, "scenario\truns\tpoints\tdeaths\tturns\tanswered again\treruns\tsandboxes lost\tviolations\tseconds\t\n")
	for _, c := range t.counts {
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.0f\t\n",
			c.name, c.runs, c.points, c.deaths, c.turns, c.again, c.reruns, c.forks, len(c.violations), c.took.Seconds())
	}
	out.Flush()
	for _, c := range t.counts {
		for _, note := range c.notes {
			fmt.Fprintf(w, "%s: %s\n", c.name, note)
		}
	}
}

// figures are what is published of it.
func (t *torment) figures(r *figures.Results, command string) {
	for _, c := range t.counts {
		r.Begin(c.name, command+" -only "+c.name)
		add := func(name, what, unit string, target figures.Target, value int) {
			r.Add(figures.This, figures.Metric{Name: "Crash/" + c.name + "/" + name, What: what, Unit: unit, Target: target}, float64(value))
		}
		add("violations", c.name+": violations", "violations", figures.AtMost(0), len(c.violations))
		switch c.name {
		case "power":
			add("states", "  states of the disk after a power cut", "states", figures.AtLeast(20_000), c.points)
			add("resumed", "  of them checked and resumed by the program", "states", figures.More(), c.deaths)
			add("control", "  violations if nothing were synced", "violations", figures.AtLeast(1), c.control)
			continue
		case "kills":
			add("deaths", "  kills", "kills", figures.AtLeast(1000), c.deaths)
		case "full":
			add("points", "  sizes of the disk", "sizes", figures.AtLeast(50), c.points)
		default:
			what := "  points disturbed"
			if c.of > 0 {
				what += fmt.Sprintf(", of %d", c.of)
			}
			add("points", what, "points", figures.More(), c.points)
			add("deaths", "  deaths of the program, with those of resumes", "deaths", figures.More(), c.deaths)
		}
		add("turns", "  turns answered by the model", "turns", figures.More(), c.turns)
		add("again", "  turns answered once more", "turns", figures.Less(), c.again)
		add("reruns", "  tool calls run again, all recorded", "calls", figures.Less(), c.reruns)
		if c.forks > 0 {
			add("lost", "  sandboxes taken away", "sandboxes", figures.More(), c.forks)
		}
	}
}
