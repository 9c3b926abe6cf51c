package engine

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// Workers take single prompts: a batch holds nothing up.
func TestWorkersTakeSinglePrompts(t *testing.T) {
	const workers = 4
	var inside, most atomic.Int32
	full := make(chan bool)
	b := newBench(t, func(a ask) (int, string) {
		n := inside.Add(1)
		defer inside.Add(-1)
		if n > most.Load() {
			most.Store(n)
		}
		if n == workers {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		select {
		case <-full:
		case <-time.After(30 * time.Second):
			t.Error("the workers do not work side by side")
		}
		return says("done")
	})
	b.prompts("a", "b", "c", "d", "e", "f", "g", "h")
	b.mustRun(batchSize(8), func(o *Options) { o.Workers = workers })
	b.wantEnds(slices.Repeat([]string{answered}, 8)...)
	if most.Load() > workers {
		t.Errorf("%d prompts at once", most.Load())
	}
}

// Prompts begin in the order of the dataset.
func TestPromptsBeginInOrder(t *testing.T) {
	b := newBench(t, echoes)
	b.prompts("c", "a", "b")
	b.mustRun(oneWorker)
	b.prompts("z", "b", "y", "x")
	b.mustRun(resume, oneWorker)
	var order []string
	for _, a := range b.model.since(0) {
		order = append(order, a.Prompt)
	}
	if want := []string{"c", "a", "b", "z", "y", "x"}; !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
}
