package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"hermes-batch/db"
)

// jumpy is a clock that is set forward or back by a day every few times that
// it is looked at.
type jumpy struct {
	mu    sync.Mutex
	looks int
}

func (j *jumpy) now() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.looks++
	return time.Now().Round(0).AddDate(0, 0, []int{0, 1, -1}[j.looks/5%3]) // without the monotonic time, which does not jump
}

// A clock that is set while a run goes on costs nothing: no prompt takes it for
// the end of its time, no turn is asked for twice, and no session has worked
// for less than no time.
func TestClockThatJumps(t *testing.T) {
	interrupt := make(chan bool, 1)
	first := true
	b := newBench(t, func(a ask) (int, string) {
		switch {
		case a.Turn == 0:
			return calls("calculator", `{"expression":"1+1"}`, "terminal", `{"command":"echo x >> log; cat log"}`)
		case a.Turn == 1 && a.Prompt == "b" && first:
			first = false
			interrupt <- true
			<-a.Gone
		case a.Turn == 1:
			return adds()
		}
		return says("done")
	})
	b.deps.Now = (&jumpy{}).now
	b.prompts("a", "b", "c", "d")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-interrupt
		cancel()
	}()
	if err := b.run(ctx, oneWorker); !errors.Is(err, ErrInterrupted) {
		t.Fatal(err)
	}
	b.mustRun(resume)
	b.wantEnds(answered, answered, answered, answered)
	b.model.wantCount(4*3 + 1)
	for i := range 4 {
		if out := b.outcome(i); out.Wall < 0 || out.ToolReruns > 0 || out.ToolStats["terminal"] != (db.ToolStat{Count: 1, Success: 1}) {
			t.Errorf("prompt %d: %+v", i, out)
		}
	}
}
