package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"hermes-batch/testdata/figures"
)

// scenarios in the order in which they run.
var scenarios = []scenario{
	{"throughput", (*bench).throughput},
	{"terminal", (*bench).terminal},
	{"workers", (*bench).scaling},
	{"prompts", (*bench).growing},
	{"turns", (*bench).conversations},
	{"sizes", (*bench).large},
	{"start", (*bench).start},
	{"commits", (*bench).commits},
	{"render", (*bench).render},
	{"check", (*bench).checking},
	{"resume", (*bench).resume},
}

type scenario struct {
	name string
	run  func(*bench, context.Context) error
}

func names() (list []string) {
	for _, s := range scenarios {
		list = append(list, s.name)
	}
	return list
}

// bench is one run of the harness.
type bench struct {
	dir      string
	programs []program
	size     sizes
	log      io.Writer       // what is being done
	json     string          // file for the figures, "" for none
	command  string          // before the name of a scenario: how to measure it again
	tree     string          // its commit
	results  figures.Results // of the scenario that runs
	report   figures.Report  // of those before it
}

func (b *bench) run(ctx context.Context, only *regexp.Regexp) error {
	var failed []error
	for _, s := range scenarios {
		if !only.MatchString(s.name) || ctx.Err() != nil {
			continue
		}
		began := time.Now()
		if err := b.measure(ctx, s); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", s.name, err))
		}
		fmt.Fprintf(b.log, "%-12s %.0f s\n", s.name, time.Since(began).Seconds())
	}
	return errors.Join(append(failed, context.Cause(ctx))...)
}

// measure runs a scenario. Its figures are kept in the file at once, unless it
// did not come to its end.
func (b *bench) measure(ctx context.Context, s scenario) error {
	b.results = figures.Results{Commit: b.tree}
	b.results.Begin(s.name, b.command+s.name)
	err := s.run(b, ctx)
	measured := b.results.Figures()
	b.report.Figures = append(b.report.Figures, measured...)
	if err != nil || b.json == "" {
		return err
	}
	return figures.Report{Machine: b.report.Machine, Programs: b.report.Programs, Figures: measured}.Merge(b.json)
}

// rounds calls fn for each program n times, in turns and with the order turned
// round each time, so that a slow moment of the machine meets them alike.
func (b *bench) rounds(n int, fn func(p program) error) error {
	for round := range n {
		for i := range b.programs {
			if round%2 == 1 {
				i = len(b.programs) - 1 - i
			}
			if err := fn(b.programs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// folder makes an empty folder, and returns what removes it.
func (b *bench) folder() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp(b.dir, "run-")
	return dir, func() { os.RemoveAll(dir) }, err
}

// add adds a sample.
func (b *bench) add(p program, name, what, unit string, target figures.Target, value float64) {
	b.results.Add(p.label, figures.Metric{Name: name, What: what, Unit: unit, Target: target}, value)
}
