package main

import (
	"context"
	"fmt"

	"hermes-batch/testdata/figures"
)

// promptWorkers are enough to keep the cores busy.
const promptWorkers = 64

// growing tells what a prompt takes in runs of more and more of them, each
// answered at once.
func (b *bench) growing(ctx context.Context) error {
	for _, n := range b.size.prompts {
		t := trial{workers: promptWorkers, prompts: n, turns: 1, prompt: question}
		if err := b.grown(ctx, t); err != nil {
			return fmt.Errorf("%d prompts: %w", n, err)
		}
	}
	return nil
}

func (b *bench) grown(ctx context.Context, t trial) error {
	at, key := fmt.Sprintf(", %s of one short turn", figures.Count(t.prompts, "prompt")), fmt.Sprintf("/prompts=%d", t.prompts)
	samples := b.size.samples
	if t.prompts > severalSamples {
		samples = 1
	}
	return b.rounds(samples, func(p program) error {
		o, err := b.try(ctx, p, t)
		if err != nil {
			return err
		}
		n := float64(t.prompts)
		b.add(p, "Prompts"+key, "prompts a second"+at, "prompts/s", figures.More(), n/o.wall.Seconds())
		b.add(p, "PromptsProcessor"+key, "  processor per prompt", "cpu-ms/prompt", figures.Less(), o.perPrompt(t.prompts))
		b.add(p, "PromptsMemory"+key, "  peak anonymous memory, "+figures.Count(t.prompts, "prompt"), "MB", figures.Less(), megabytes(o.memory))
		b.add(p, "PromptsStore"+key, "  store per prompt", "B/prompt", figures.Less(), float64(o.store)/n)
		b.add(p, "PromptsWritten"+key, "  written to the disk per prompt, output files too", "B/prompt", figures.Less(), float64(o.written)/n)
		if few := b.results.Median(p.label, fmt.Sprintf("PromptsMemory/prompts=%d", memoryBase)); few > 0 && t.prompts > memoryBase {
			b.add(p, "PromptsMemoryGrowth"+key, fmt.Sprintf("  that memory ÷ the same with %s", figures.Count(memoryBase, "prompt")), "ratio", figures.AtMost(1.5), megabytes(o.memory)/few)
		}
		return nil
	})
}

const (
	// memoryBase is the number of prompts whose memory others are held against.
	memoryBase = 10_000
	// severalSamples is the largest run that is made more than once.
	severalSamples = 50_000
)
