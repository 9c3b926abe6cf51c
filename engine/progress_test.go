package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hermes-batch/db"
)

// The count of done prompts never falls and never exceeds the total.
func TestProgressIsMonotonic(t *testing.T) {
	b := newBench(t, func(a ask) (int, string) {
		time.Sleep(time.Millisecond)
		switch {
		case a.Prompt == "p7":
			return broken(400, "bad")
		case a.Turn < 2:
			return adds()
		}
		return says("done")
	})
	var texts []string
	for i := range 40 {
		texts = append(texts, fmt.Sprintf("p%d", i))
	}
	b.prompts(texts...)
	stop, polled := make(chan bool), make(chan bool)
	b.hook = func(r *Run) {
		go func() {
			defer close(polled)
			for last := (Snapshot{}); ; {
				s := r.Progress().Snapshot()
				sum := 0
				for _, n := range s.Verdicts {
					sum += n
				}
				switch {
				case s.Done < last.Done || s.Turns < last.Turns:
					t.Errorf("%d done after %d, %d turns after %d", s.Done, last.Done, s.Turns, last.Turns)
				case s.Done > s.Total || s.Total != 40 || sum != s.Done:
					t.Errorf("%d of %d done: %v", s.Done, s.Total, s.Verdicts)
				case len(s.InFlight) > 8:
					t.Errorf("%d in flight", len(s.InFlight))
				}
				last = s
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
			}
		}()
	}
	b.mustRun(func(o *Options) { o.Workers = 8 })
	close(stop)
	<-polled
	s := b.now.Load().Progress().Snapshot()
	if s.Done != 40 || s.DoneNow != 40 || s.Turns != 39*3 || s.Verdicts[db.EndCompleted] != 39 || s.Verdicts[db.EndFailed] != 1 || len(s.InFlight) != 0 {
		t.Errorf("in the end: %+v", s)
	}
}

// A resume begins with what earlier sessions did; only what is to be tried
// again is taken off.
func TestProgressOfAResume(t *testing.T) {
	b := newBench(t, func(a ask) (int, string) {
		switch a.Prompt {
		case "failed", "failed, no more there":
			return broken(400, "bad")
		case "long":
			return adds()
		}
		return says("done")
	})
	b.deps.Judge = func(h db.OutcomeHead) string {
		if h.End == db.EndFailed {
			return "failed"
		}
		return "kept"
	}
	b.prompts("done", "failed", "long", "done, no more there", "failed, no more there")
	b.mustRun(maxTurns(2))
	b.prompts("done", "failed", "long", "new", "new too")
	for _, c := range []struct {
		change      func(*Options)
		done, total int
	}{
		{func(o *Options) {}, 3, 6},
		{func(o *Options) { o.RetryFailed = "none" }, 4, 6},
		{retryIncomplete("max_turns"), 2, 6},
		{func(o *Options) { o.MaxSamples = 1 }, 3, 3},
	} {
		r, err := b.start(t.Context(), resume, maxTurns(2), c.change)
		if err != nil {
			t.Fatal(err)
		}
		s := r.Progress().Snapshot()
		if s.Done != c.done || s.Total != c.total || s.DoneNow != 0 || s.Turns != 0 {
			t.Errorf("%d of %d done, want %d of %d", s.Done, s.Total, c.done, c.total)
		}
		if _, known := s.eta(); known {
			t.Error("an ETA before anything was done")
		}
		r.Close(ErrInterrupted)
	}
	b.mustRun(resume, maxTurns(2))
	if s := b.now.Load().Progress().Snapshot(); s.Done != 6 || s.Total != 6 || s.DoneNow != 3 {
		t.Errorf("in the end: %+v", s)
	}
}

func TestETAIsOfThisSession(t *testing.T) {
	for _, c := range []struct {
		s    Snapshot
		want time.Duration
	}{
		{Snapshot{Total: 100, Done: 90, DoneNow: 5, Elapsed: 10 * time.Second}, 20 * time.Second},
		{Snapshot{Total: 100, Done: 90, DoneNow: 0, Elapsed: 10 * time.Second}, 0},
		{Snapshot{Total: 100, Done: 100, DoneNow: 5, Elapsed: 10 * time.Second}, 0},
	} {
		if eta, known := c.s.eta(); eta != c.want || known != (c.want > 0) {
			t.Errorf("%+v: %s, %v", c.s, eta, known)
		}
	}
}

// What is in flight is shown with the longest first.
func TestInFlight(t *testing.T) {
	now := time.Unix(0, 0)
	p := &Progress{now: func() time.Time { return now }, flight: map[db.Ordinal]*flight{}}
	for i := range 9 {
		p.begin(db.MakeOrdinal(8-i, 0))
		now = now.Add(time.Second)
	}
	p.turn(db.MakeOrdinal(8, 0), &db.Turn{Tries: 3, Usage: db.Usage{PromptTokens: 5}})
	p.turn(db.MakeOrdinal(8, 0), &db.Turn{Tries: 1, Usage: db.Usage{PromptTokens: 5}})
	p.leave(db.MakeOrdinal(7, 0))
	s := p.Snapshot()
	if got := inFlight(s); got != "in flight: #8 2 turns 9s, #6 0 turns 7s, #5 0 turns 6s, #4 0 turns 5s, #3 0 turns 4s, #2 0 turns 3s, +2" {
		t.Errorf("%s", got)
	}
	if s.Turns != 2 || s.Retries != 2 || s.Usage.PromptTokens != 10 || s.Elapsed == 0 {
		t.Errorf("snapshot %+v", s)
	}
}

// A model that shows no reasoning makes rows that nobody keeps: the user is
// told after a while, once.
func TestHintWhenNothingIsKept(t *testing.T) {
	for _, c := range []struct{ prompts, keptAt, hints int }{{19, -1, 0}, {20, -1, 1}, {45, -1, 1}, {30, 15, 0}} {
		var log logBuffer
		b := newBench(t, func(a ask) (int, string) { return says(a.Prompt) })
		b.deps.Log = log.logger()
		b.deps.Judge = func(h db.OutcomeHead) string {
			if h.Ordinal.Index() == c.keptAt {
				return "kept"
			}
			return "discarded"
		}
		var texts []string
		for i := range c.prompts {
			texts = append(texts, fmt.Sprint(i))
		}
		b.prompts(texts...)
		b.mustRun(oneWorker)
		if got := strings.Count(log.String(), "--keep_without_reasoning"); got != c.hints {
			t.Errorf("%d prompts, kept at %d: %d hints, want %d", c.prompts, c.keptAt, got, c.hints)
		}
	}
}
