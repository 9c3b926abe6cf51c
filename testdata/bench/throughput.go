package main

import (
	"context"
	"fmt"
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

// load is a run whose figures have targets.
type load struct {
	workers, prompts        int
	latency                 time.Duration
	wall, memory, processor figures.Target
}

func (l load) trial() trial {
	return trial{workers: l.workers, prompts: l.prompts, turns: modelCalls, latency: l.latency, prompt: sum}
}

func (l load) what() string {
	return fmt.Sprintf("%s, %v model, %s of 3 calls", figures.Count(l.workers, "worker"), l.latency, figures.Count(l.prompts, "prompt"))
}

// throughput compares runs with the ideal, and says what they take.
func (b *bench) throughput(ctx context.Context) error {
	for _, l := range b.size.loads {
		if err := b.wire(ctx, l); err != nil {
			return err
		}
		workers := figures.Count(l.workers, "worker")
		key := fmt.Sprintf("/workers=%d", l.workers)
		err := b.rounds(b.size.samples, func(p program) error {
			o, err := b.try(ctx, p, l.trial())
			if err != nil {
				return err
			}
			b.add(p, "Wall"+key, "wall ÷ ideal, "+l.what(), "wall/ideal", l.wall, o.wall.Seconds()/l.trial().ideal().Seconds())
			b.add(p, "Processor"+key, "  processor per prompt, 3 calls with calculator, "+workers, "cpu-ms/prompt", l.processor, o.perPrompt(l.prompts))
			b.add(p, "Memory"+key, "  peak anonymous memory, "+workers, "MB", l.memory, megabytes(o.memory))
			return nil
		})
		if err != nil {
			return err
		}
	}
	return b.perSession()
}

// perSession is what memory grows by for each session in flight, between the
// smallest and the largest load.
func (b *bench) perSession() error {
	few, many := b.size.loads[0].workers, b.size.loads[len(b.size.loads)-1].workers
	if few == many {
		return nil
	}
	return b.rounds(1, func(p program) error {
		grown := b.results.Median(p.label, fmt.Sprintf("Memory/workers=%d", many)) - b.results.Median(p.label, fmt.Sprintf("Memory/workers=%d", few))
		what := fmt.Sprintf("anonymous memory per session in flight, between %d and %s", few, figures.Count(many, "session"))
		b.add(p, "MemorySession", what, "KB/session", figures.Less(), 1e3*grown/float64(many-few))
		return nil
	})
}

// terminal says what a prompt takes whose calls are processes.
func (b *bench) terminal(ctx context.Context) error {
	t := trial{workers: 16, prompts: b.size.commands, turns: modelCalls, prompt: commands}
	return b.rounds(b.size.samples, func(p program) error {
		o, err := b.try(ctx, p, t)
		if err != nil {
			return err
		}
		b.add(p, "Processor/terminal", "processor per prompt, 3 calls with two echo commands", "cpu-ms/prompt", figures.AtMost(terminalLimit), o.perPrompt(t.prompts))
		b.add(p, "Rate/terminal", "prompts with two echo commands, 16 workers, model at once", "prompts/s", figures.More(), float64(t.prompts)/o.wall.Seconds())
		b.add(p, "Memory/terminal", "  peak anonymous memory", "MB", figures.Less(), megabytes(o.memory))
		return nil
	})
}
