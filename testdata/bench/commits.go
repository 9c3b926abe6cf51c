package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"hermes-batch/db"
	"hermes-batch/testdata/figures"
)

// sessionTurns is how many turns a writer gives a session before it takes the
// next one.
const sessionTurns = 8

// commits measures the store alone, in this process: durable commits of one
// turn of 4 KB each, by the number of sessions that are written at once.
func (b *bench) commits(ctx context.Context) error {
	turns := turnsOf(64)
	for _, writers := range b.size.writers {
		for range b.size.samples {
			if err := b.commit(ctx, writers, turns); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) commit(ctx context.Context, writers int, turns []*db.Turn) error {
	dir, remove, err := b.folder()
	if err != nil {
		return err
	}
	defer remove()
	path := filepath.Join(dir, "run.db")
	store, err := db.Create(path, db.Run{Name: runName}, db.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	w := writing{store: store, prompts: writers + int(b.size.writing.Seconds()*4096), turns: turns}
	if err := w.register(); err != nil {
		return err
	}
	size, err := onDisk(path)
	if err != nil {
		return err
	}
	before, began := written(), time.Now()
	took, err := w.run(ctx, writers, began.Add(b.size.writing))
	if err != nil {
		return err
	}
	elapsed, bytes := time.Since(began), written()-before
	after, err := onDisk(path)
	if err != nil {
		return err
	}
	slices.Sort(took)
	this, at, key := b.programs[0], ", "+figures.Count(writers, "writer"), fmt.Sprintf("/writers=%d", writers)
	b.add(this, "Commits"+key, "durable commits of 4 KB turns"+at, "commits/s", figures.More(), float64(len(took))/elapsed.Seconds())
	b.add(this, "CommitP50"+key, "  median of their latency"+at, "ms", figures.Less(), milliseconds(figures.Quantile(took, 0.50)))
	b.add(this, "CommitP99"+key, "  99th percentile"+at, "ms", figures.Less(), milliseconds(figures.Quantile(took, 0.99)))
	b.add(this, "CommitBytes"+key, "  bytes written per turn"+at, "B/turn", figures.Less(), float64(bytes)/float64(len(took)))
	b.add(this, "CommitSize"+key, "  growth of the store per turn"+at, "B/turn", figures.Less(), float64(after-size)/float64(len(took)))
	return nil
}

// writing is a store that sessions are written into.
type writing struct {
	store   *db.Store
	prompts int // registered
	turns   []*db.Turn
	next    atomic.Int64 // prompt to begin
}

func (w *writing) register() error {
	prompts := make([]db.Prompt, w.prompts)
	for i := range prompts {
		prompts[i] = promptOf(i, sum(i))
	}
	return w.store.PutPrompts(prompts)
}

// run lets writers commit turns, one after the other each, until the time is
// up, and returns how long each commit took.
func (w *writing) run(ctx context.Context, writers int, until time.Time) ([]time.Duration, error) {
	each := make([][]time.Duration, writers)
	group, ctx := errgroup.WithContext(ctx)
	for i := range writers {
		group.Go(func() error {
			for time.Now().Before(until) {
				took, err := w.session(ctx, until)
				if err != nil {
					return err
				}
				each[i] = append(each[i], took...)
			}
			return nil
		})
	}
	err := group.Wait()
	return slices.Concat(each...), err
}

func (w *writing) session(ctx context.Context, until time.Time) (took []time.Duration, err error) {
	index := int(w.next.Add(1)) - 1
	if index >= w.prompts {
		return nil, fmt.Errorf("more than %d sessions were written", w.prompts)
	}
	log, err := w.store.Log(db.MakeOrdinal(index, 0))
	if err != nil {
		return nil, err
	}
	log.Append(&db.Attempt{Parent: -1, ForkStep: -1, Reason: "start"})
	for n := 0; n < sessionTurns && time.Now().Before(until); n++ {
		began := time.Now()
		if err := log.Append(w.turns[(index+n)%len(w.turns)]).Wait(ctx); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

// written is how many bytes this process has written so far; 0 if the system
// does not say.
func written() int64 {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0
	}
	return writtenIn(string(text))
}

func writtenIn(text string) int64 {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "wchar:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			return n
		}
	}
	return 0
}
