package engine

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hermes-batch/db"
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

func TestFolderQueues(t *testing.T) {
	var q folderQueues
	for _, own := range []string{"", "relative", "relative"} {
		if folder, entered := q.enter(own, 1); !entered || folder != "" {
			t.Errorf("%q: %q %v", own, folder, entered)
		}
	}
	for _, c := range []struct {
		cwd     string
		ord     db.Ordinal
		entered bool
	}{{"/a", 1, true}, {"/b", 2, true}, {"/a/", 3, false}, {"/a", 4, false}} {
		if _, entered := q.enter(c.cwd, c.ord); entered != c.entered {
			t.Errorf("%+v: %v", c, entered)
		}
	}
	for _, want := range []db.Ordinal{3, 4} {
		if next, waited := q.leave("/a"); next != want || !waited {
			t.Errorf("next is %v, %v", next, waited)
		}
	}
	if _, waited := q.leave("/a"); waited {
		t.Error("somebody still waits")
	}
	if _, entered := q.enter("/a", 5); !entered {
		t.Error("the folder is not free")
	}
}

// Rows that share one folder take one worker, not all: others go on beside.
func TestSharedFolderLeavesWorkersFree(t *testing.T) {
	dir := t.TempDir()
	release := make(chan struct{})
	b := newBench(t, func(a ask) (int, string) {
		if a.Prompt == "free" {
			close(release)
		} else {
			<-release
		}
		return says("done")
	})
	shared := func(name string) string { return fmt.Sprintf(`{"prompt":%q,"cwd":%q}`, name, dir) }
	b.dataset(shared("a"), shared("b"), shared("c"), `{"prompt":"free"}`)
	b.mustRun(func(o *Options) { o.Workers = 2 })
	b.wantEnds(answered, answered, answered, answered)
}

// Rendering in the background takes a twentieth of the time at most, and ends
// with the work.
func TestRenderingIsRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var times []time.Duration
		began, slow := time.Now(), time.Duration(0)
		r := &Run{deps: Deps{Render: func(context.Context) error {
			times = append(times, time.Since(began))
			time.Sleep(slow)
			slow += 10 * time.Second
			return nil
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
