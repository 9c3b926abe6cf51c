package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"hermes-batch/testdata/figures"
)

// The processor time that a prompt of three model calls may take, in ms: a
// hundredth (calculator) and a twentieth (two commands) of the 400 ms that the
// reference program took at the least.
const (
	calculatorLimit = 4
	terminalLimit   = 20
)

// load is a run against a model with a latency.
type load struct {
	workers, prompts        int
	latency                 time.Duration
	wall, memory, processor figures.Target
}

// ideal is how long a run takes whose workers do nothing but wait for the model.
func (l load) ideal() time.Duration {
	return time.Duration(l.prompts) * modelCalls * l.latency / time.Duration(l.workers)
}

// throughput compares runs with the ideal, and says what they take.
func (b *bench) throughput(ctx context.Context) error {
	for _, l := range b.size.loads {
		if err := b.wire(ctx, l); err != nil {
			return err
		}
		at := fmt.Sprintf("%d workers, %v model", l.workers, l.latency)
		key := fmt.Sprintf("/workers=%d", l.workers)
		err := b.rounds(b.size.samples, func(p program) error {
			u, err := b.session(ctx, p, l, sum)
			if err != nil {
				return err
			}
			b.add(p, "Wall"+key, "wall ÷ ideal, "+at, "wall/ideal", l.wall, u.wall.Seconds()/l.ideal().Seconds())
			b.add(p, "Processor"+key, "processor per prompt, calculator, "+at, "cpu-ms/prompt", l.processor, u.perPrompt(l.prompts))
			b.add(p, "Memory"+key, "peak anonymous memory, "+at, "MB", l.memory, megabytes(u.memory))
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// terminal says what a prompt takes whose calls are processes.
func (b *bench) terminal(ctx context.Context) error {
	l := load{workers: 16, prompts: b.size.commands}
	return b.rounds(b.size.samples, func(p program) error {
		u, err := b.session(ctx, p, l, commands)
		if err != nil {
			return err
		}
		b.add(p, "Processor/terminal", "processor per prompt, two echo commands", "cpu-ms/prompt", figures.AtMost(terminalLimit), u.perPrompt(l.prompts))
		b.add(p, "Rate/terminal", "prompts with two echo commands, model at once", "prompts/s", figures.Less(), float64(l.prompts)/u.wall.Seconds())
		return nil
	})
}

// session is one run from nothing, against a model of its own, whose work is
// verified.
func (b *bench) session(ctx context.Context, p program, l load, prompt func(int) string) (usage, error) {
	dir, remove, err := b.folder()
	if err != nil {
		return usage{}, err
	}
	defer remove()
	if _, err := writeDataset(filepath.Join(dir, datasetFile), l.prompts, prompt); err != nil {
		return usage{}, err
	}
	m, err := startModel(ctx, b.programs[0], l.latency)
	if err != nil {
		return usage{}, err
	}
	defer m.stop()
	u, err := p.run(ctx, dir, arguments(m.url, l.workers)...)
	if err != nil {
		return usage{}, err
	}
	stats, err := m.stats()
	if err != nil {
		return usage{}, err
	}
	return u, stats.check(l.prompts*modelCalls, l.workers)
}

func (u usage) perPrompt(prompts int) float64 {
	return float64(u.processor.Microseconds()) / 1e3 / float64(prompts)
}

func megabytes(n int64) float64 { return float64(n) / 1e6 }
