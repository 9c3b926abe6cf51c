package main

import (
	"context"
	"fmt"
	"time"

	"hermes-batch/testdata/figures"
)

// resume measures a run that is all but finished, and then one that is: how
// soon it asks the model for what is left, and how soon it sees that nothing is.
func (b *bench) resume(ctx context.Context) error {
	for _, n := range b.size.finished {
		if err := b.resumed(ctx, n); err != nil {
			return fmt.Errorf("%d finished prompts: %w", n, err)
		}
	}
	return nil
}

func (b *bench) resumed(ctx context.Context, n int) error {
	folders, remove, err := b.histories(ctx, history{finished: n, pending: 1, prompt: question})
	if err != nil {
		return err
	}
	defer remove()
	at, key := ", "+figures.Count(n, "finished prompt"), fmt.Sprintf("/finished=%d", n)
	if err := b.reopened(ctx, folders, at, key); err != nil {
		return err
	}
	m, err := startModel(ctx, b.programs[0], 0)
	if err != nil {
		return err
	}
	defer m.stop()
	// Answers the last prompt and renders all files.
	if err := b.rounds(1, func(p program) error {
		_, err := p.run(ctx, folders[p], arguments(m.url, 4, "--resume")...)
		return err
	}); err != nil {
		return err
	}
	return b.rounds(b.size.samples, func(p program) error {
		u, err := p.run(ctx, folders[p], arguments(m.url, 4, "--resume")...)
		if err != nil {
			return err
		}
		b.add(p, "Resume"+key, "resume of a complete run to its exit"+at, "s", figures.Less(), u.wall.Seconds())
		b.add(p, "ResumeProcessor"+key, "  processor for that", "s", figures.Less(), u.processor.Seconds())
		b.add(p, "Memory"+key, "  peak anonymous memory"+at, "MB", figures.Less(), megabytes(u.memory))
		if few := b.results.Median(p.label, fmt.Sprintf("Memory/finished=%d", memoryBase)); few > 0 && n > memoryBase {
			b.add(p, "MemoryGrowth"+key, "  that memory ÷ the same with "+figures.Count(memoryBase, "prompt"), "ratio", figures.AtMost(1.5), megabytes(u.memory)/few)
		}
		return nil
	})
}

// reopened measures the start after an orderly end, and after kill -9.
func (b *bench) reopened(ctx context.Context, folders map[program]string, at, key string) error {
	err := b.rounds(b.size.samples, func(p program) error {
		took, _, err := firstRequest(ctx, p, folders[p], inOrder, "--resume")
		if err == nil {
			b.add(p, "Start"+key, "start to first request"+at, "s", figures.AtMost(5), took.Seconds())
		}
		return err
	})
	if err != nil {
		return err
	}
	kill := func(p program) (took time.Duration, err error) {
		took, _, err = firstRequest(ctx, p, folders[p], atOnce, "--resume")
		return took, err
	}
	if err := b.rounds(1, func(p program) error { _, err := kill(p); return err }); err != nil {
		return err
	}
	return b.rounds(b.size.samples, func(p program) error {
		took, err := kill(p)
		if err == nil {
			b.add(p, "StartKilled"+key, "  after kill -9: start to first request"+at, "s", figures.Less(), took.Seconds())
		}
		return err
	})
}
