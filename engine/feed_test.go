package engine

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

func TestDisk(t *testing.T) {
	if err := checkDisk("/nowhere"); err != nil {
		t.Errorf("a disk that is not known: %v", err)
	}
	if err := checkDisk(t.TempDir()); err != nil && stopReason(err) != stopDisk {
		t.Errorf("error %v", err)
	}
}

func TestFolderLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var locks folderLocks
		for _, free := range []string{"", "relative", "relative"} {
			if _, err := locks.lock(t.Context(), free); err != nil {
				t.Errorf("%q: %v", free, err)
			}
		}
		unlock, err := locks.lock(t.Context(), "/a")
		if err != nil {
			t.Fatal(err)
		}
		if other, err := locks.lock(t.Context(), "/b"); err != nil {
			t.Error(err)
		} else {
			other()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := locks.lock(ctx, "/a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a folder in use: %v", err)
		}
		unlock()
		if again, err := locks.lock(t.Context(), "/a"); err != nil {
			t.Error(err)
		} else {
			again()
		}
	})
}

// Rendering in the background takes a twentieth of the time at most, and ends
// with the work.
func TestRenderingIsRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var times []time.Duration
		began, slow := time.Now(), time.Duration(0)
		r := &Run{deps: Deps{Render: func(context.Context) {
			times = append(times, time.Since(began))
			time.Sleep(slow)
			slow += 10 * time.Second
		}}}
		var ctx context.Context
		r.stop, ctx = newStopper(t.Context(), 0)
		done := r.render(ctx)
		time.Sleep(10 * time.Minute)
		r.stop.begin(ErrInterrupted)
		<-done
		// 0 s, 10 s, 20 s of work; pauses of 2 s, 200 s, 400 s
		if want := []time.Duration{2 * time.Second, 4 * time.Second, 214 * time.Second}; !slices.Equal(times, want) {
			t.Errorf("rendered at %v, want %v", times, want)
		}
	})
}
