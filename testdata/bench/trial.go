package main

import (
	"context"
	"path/filepath"
	"time"

	"hermes-batch/db"
)

// trial is a run from nothing against a model of its own.
type trial struct {
	workers, prompts int
	turns            int           // model calls of each prompt
	latency          time.Duration // of the model
	prompt           func(int) string
	replies          []*db.Turn // of the model; nil: it is the embedded one
}

// ideal is how long the run takes if its workers do nothing but wait for the
// model.
func (t trial) ideal() time.Duration {
	return time.Duration(t.prompts) * time.Duration(t.turns) * t.latency / time.Duration(t.workers)
}

// outcome is what a trial took.
type outcome struct {
	usage
	model time.Duration // processor time of the model
	store int64         // bytes of the store on the disk
}

// busy is how many cores the run and the model kept busy.
func (o outcome) busy() float64 { return (o.processor + o.model).Seconds() / o.wall.Seconds() }

func (u usage) perPrompt(prompts int) float64 { return milliseconds(u.processor) / float64(prompts) }

// try makes the run, and verifies by what the model counted that it did its
// work.
func (b *bench) try(ctx context.Context, p program, t trial) (o outcome, err error) {
	dir, remove, err := b.folder()
	if err != nil {
		return o, err
	}
	defer remove()
	if _, err := writeDataset(filepath.Join(dir, datasetFile), t.prompts, t.prompt); err != nil {
		return o, err
	}
	if o.usage, o.model, err = b.answered(ctx, p, t, dir); err != nil {
		return o, err
	}
	o.store, err = onDisk(filepath.Join(dir, storeFile))
	return o, err
}

// answered runs the program over a folder, and tells the processor time of the
// model as well: 0 of one in this process.
func (b *bench) answered(ctx context.Context, p program, t trial, dir string) (u usage, model time.Duration, err error) {
	if t.replies != nil {
		m, err := startTalker(t.replies)
		if err != nil {
			return u, 0, err
		}
		defer m.close()
		if u, err = p.run(ctx, dir, arguments(m.url, t.workers)...); err != nil {
			return u, 0, err
		}
		return u, 0, m.check(t.prompts * t.turns)
	}
	m, err := startModel(ctx, b.programs[0], t.latency)
	if err != nil {
		return u, 0, err
	}
	defer m.stop()
	if u, err = p.run(ctx, dir, arguments(m.url, t.workers)...); err != nil {
		return u, 0, err
	}
	stats, err := m.stats()
	if err != nil {
		return u, 0, err
	}
	return u, m.stop(), stats.check(t.prompts*t.turns, t.workers)
}

func megabytes(n int64) float64 { return float64(n) / 1e6 }

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
