package main

import (
	"context"
	"path/filepath"

	"hermes-batch/testdata/figures"
)

// checking measures the check of a store with turns of 4 KB, in bytes of it.
func (b *bench) checking(ctx context.Context) error {
	folders, remove, err := b.histories(ctx, history{finished: b.size.rendered, prompt: sum, retold: true})
	if err != nil {
		return err
	}
	defer remove()
	return b.rounds(b.size.samples, func(p program) error {
		store, err := onDisk(filepath.Join(folders[p], storeFile))
		if err != nil {
			return err
		}
		for _, c := range []struct {
			name, what string
			flags      []string
		}{
			{"Check", "check", nil},
			{"CheckDeep", "check --deep: every hash, record and blob", []string{"--deep"}},
		} {
			u, err := p.run(ctx, folders[p], append([]string{"check", "--store=" + storeFile}, c.flags...)...)
			if err != nil {
				return err
			}
			b.add(p, c.name, c.what+", bytes of the store by the clock", "MB/s", figures.More(), megabytes(store)/u.wall.Seconds())
			b.add(p, c.name+"Processor", "  by processor time", "MB/cpu-s", figures.More(), megabytes(store)/u.processor.Seconds())
			b.add(p, c.name+"Memory", "  peak anonymous memory", "MB", figures.Less(), megabytes(u.memory))
		}
		return nil
	})
}
