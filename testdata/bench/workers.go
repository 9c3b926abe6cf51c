package main

import (
	"context"
	"fmt"
	"time"

	"hermes-batch/testdata/figures"
)

// scale is how the workers are varied.
type scale struct {
	workers []int
	latency time.Duration // of a model that does not keep the cores busy
	rounds  int           // prompts of each worker against that model
	atOnce  int           // prompts against a model without latency, or one for each worker
}

// scaling tells how the turns per second grow with the workers: against a
// model with a latency, where the ideal grows with them until the cores are
// busy, and against one without, where the cores alone are the bound.
func (b *bench) scaling(ctx context.Context) error {
	s := b.size.scale
	for _, workers := range s.workers {
		t := trial{workers: workers, prompts: workers * s.rounds, turns: modelCalls, latency: s.latency, prompt: sum}
		if err := b.waiting(ctx, t); err != nil {
			return err
		}
	}
	for _, workers := range s.workers {
		t := trial{workers: workers, prompts: max(s.atOnce, workers), turns: modelCalls, prompt: sum}
		if err := b.flatOut(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) waiting(ctx context.Context, t trial) error {
	at, key := fmt.Sprintf(", %s, %v model", figures.Count(t.workers, "worker"), t.latency), fmt.Sprintf("/workers=%d", t.workers)
	return b.rounds(b.size.samples, func(p program) error {
		o, err := b.try(ctx, p, t)
		if err != nil {
			return err
		}
		b.add(p, "Turns"+key, "turns a second"+at, "turns/s", figures.More(), t.rate(o))
		b.add(p, "TurnsWall"+key, "  wall ÷ ideal", "wall/ideal", figures.Less(), o.wall.Seconds()/t.ideal().Seconds())
		b.add(p, "TurnsCores"+key, "  cores busy, run and model", "cores", figures.Less(), o.busy())
		b.add(p, "TurnsMemory"+key, "  peak anonymous memory", "MB", figures.Less(), megabytes(o.memory))
		return nil
	})
}

func (b *bench) flatOut(ctx context.Context, t trial) error {
	at, key := fmt.Sprintf(", %s, model at once", figures.Count(t.workers, "worker")), fmt.Sprintf("/workers=%d", t.workers)
	return b.rounds(b.size.samples, func(p program) error {
		o, err := b.try(ctx, p, t)
		if err != nil {
			return err
		}
		b.add(p, "FlatOut"+key, "turns a second"+at, "turns/s", figures.More(), t.rate(o))
		b.add(p, "FlatOutCores"+key, "  cores busy, run and model", "cores", figures.Less(), o.busy())
		b.add(p, "FlatOutProcessor"+key, "  processor per turn, run alone", "cpu-ms/turn", figures.Less(), milliseconds(o.processor)/float64(t.prompts*t.turns))
		return nil
	})
}

// rate is turns a second, from start to exit.
func (t trial) rate(o outcome) float64 { return float64(t.prompts*t.turns) / o.wall.Seconds() }
