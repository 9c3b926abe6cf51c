package engine

import (
	"fmt"
	"testing"

	"hermes-batch/db"
)

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
