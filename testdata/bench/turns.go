package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hermes-batch/testdata/figures"
)

const (
	// talkWorkers take part in conversations at once.
	talkWorkers = 4
	// longTalk and shortTalk are the lengths of which one may cost that much
	// more a turn than the other.
	longTalk, shortTalk, talkGrowth = 200, 20, 2.5
)

// conversations tells what a turn takes in conversations of more and more
// turns of 4 KB. The requests of a conversation repeat what was said, so the
// bytes on the wire grow with the square of its length; a bare client that
// sends the same bodies tells what that alone takes.
func (b *bench) conversations(ctx context.Context) error {
	for _, turns := range b.size.turns {
		err := b.rounds(b.size.samples, func(p program) error { return b.conversation(ctx, p, turns) })
		if err != nil {
			return fmt.Errorf("%d turns: %w", turns, err)
		}
	}
	return b.talkGrowth()
}

func (b *bench) conversation(ctx context.Context, p program, turns int) error {
	dir, remove, err := b.folder()
	if err != nil {
		return err
	}
	defer remove()
	talks := max(b.size.talk/turns, 2)
	if _, err := writeDataset(filepath.Join(dir, datasetFile), talks, question); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, calculatorFile), []byte(`{"calculator": {"calculator": 100}}`), 0o644); err != nil {
		return err
	}
	m, err := startTalker(countingTurns(turns))
	if err != nil {
		return err
	}
	defer m.close()
	u, err := p.run(ctx, dir, arguments(m.url, talkWorkers, "--distribution_file="+calculatorFile, "--distribution=calculator", fmt.Sprintf("--max_turns=%d", turns))...)
	if err != nil {
		return err
	}
	if err := m.check(talks * turns); err != nil {
		return err
	}
	bodies, size, err := m.keep(dir)
	if err != nil {
		return err
	}
	bare, err := sendBare(ctx, m.url, bodies, talks)
	if err != nil {
		return err
	}
	store, err := onDisk(filepath.Join(dir, storeFile))
	if err != nil {
		return err
	}
	b.talked(p, turns, talks, talk{run: u, bare: bare, wire: size, store: store})
	return nil
}

// calculatorFile is a distribution of the calculator alone.
const calculatorFile = "calculator.json"

// talk is what conversations took.
type talk struct {
	run   usage
	bare  time.Duration // processor time of a client that sends the same bodies
	wire  int64         // bytes of the requests of one conversation
	store int64
}

func (b *bench) talked(p program, turns, talks int, t talk) {
	at, key, n := fmt.Sprintf(", conversations of %s of 4 KB", figures.Count(turns, "turn")), fmt.Sprintf("/turns=%d", turns), float64(turns*talks)
	b.add(p, "Turn"+key, "processor per turn"+at, "cpu-ms/turn", figures.Less(), milliseconds(t.run.processor)/n)
	b.add(p, "TurnBare"+key, "  a bare client that sends the same", "cpu-ms/turn", figures.Less(), milliseconds(t.bare)/n)
	b.add(p, "TurnBeyond"+key, "  the difference", "cpu-ms/turn", figures.Less(), milliseconds(t.run.processor-t.bare)/n)
	b.add(p, "TurnWire"+key, "  request bytes per turn", "B/turn", figures.Less(), float64(t.wire)/float64(turns))
	b.add(p, "TurnStore"+key, "  store per turn", "B/turn", figures.Less(), float64(t.store)/n)
	b.add(p, "TurnWritten"+key, "  written to the disk per turn, output files too", "B/turn", figures.Less(), float64(t.run.written)/n)
	b.add(p, "TurnMemory"+key, "  peak anonymous memory", "MB", figures.Less(), megabytes(t.run.memory))
}

// talkGrowth holds the longest conversations against those of 20 turns.
func (b *bench) talkGrowth() error {
	return b.rounds(1, func(p program) error {
		short := b.results.Median(p.label, fmt.Sprintf("TurnBeyond/turns=%d", shortTalk))
		long := b.results.Median(p.label, fmt.Sprintf("TurnBeyond/turns=%d", longTalk))
		if short > 0 && long > 0 {
			what := fmt.Sprintf("processor per turn beyond a bare client, %d turns ÷ %d", longTalk, shortTalk)
			b.add(p, "TurnGrowth", what, "ratio", figures.AtMost(talkGrowth), long/short)
		}
		return nil
	})
}
