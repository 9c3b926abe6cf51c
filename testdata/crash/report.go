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
		r.Begin("crash "+c.name, command+" -only "+c.name)
		add := func(name, what, unit string, target figures.Target, value float64) {
			r.Add(figures.This, figures.Metric{Name: "Crash/" + c.name + "/" + name, What: what, Unit: unit, Target: target}, value)
		}
		add("violations", c.name+": violations", "violations", figures.AtMost(0), float64(len(c.violations)))
		if c.name == "kills" {
			add("deaths", "  kills", "kills", figures.AtLeast(1000), float64(c.deaths))
			add("rate", "  kills a second, with all that is verified after each", "kills/s", figures.More(), float64(c.deaths)/c.took.Seconds())
		} else {
			add("points", "  points disturbed", "points", pointsTarget(c.name), float64(c.points))
			add("deaths", "  deaths of the program, with those of resumes", "deaths", figures.More(), float64(c.deaths))
		}
		add("turns", "  turns answered by the model", "turns", figures.More(), float64(c.turns))
		add("again", "  turns answered once more", "turns", figures.Less(), float64(c.again))
		add("reruns", "  tool calls run again, all recorded", "calls", figures.Less(), float64(c.reruns))
	}
}

func pointsTarget(scenario string) figures.Target {
	if scenario == "full" {
		return figures.AtLeast(50)
	}
	return figures.More()
}
