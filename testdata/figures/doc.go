// Package figures is what the measuring programs of this folder have in
// common: samples are gathered under a metric, their medians are the figures,
// and those are held against targets, printed, and kept as JSON from which
// the tables of BENCHMARKS.md are made.
//
//	results.Begin("commits", "go run ./testdata/bench -only commits")
//	results.Add(figures.This, figures.Metric{Name: "Commits", What: "durable commits", Unit: "commits/s", Target: figures.More()}, 1800)
//	report := figures.Report{Machine: facts, Programs: []string{figures.This}, Figures: results.Figures()}
//	report.Print(os.Stdout)
//	err := report.Merge("testdata/figures/bench.json")
//
// A target is said to be met or missed, and nothing fails because of it.
package figures
