package db

import "testing"

// TestSpent follows what a session cost through retries and forks.
func TestSpent(t *testing.T) {
	s := newStore(t)
	register(t, s, 3)
	usage := func(tokens int64) Usage { return Usage{PromptTokens: tokens, Cost: 1, CostKnown: true} }
	want := func(o Ordinal, tokens int64, cost float64) {
		t.Helper()
		if got, err := s.Spent(o); err != nil || got != (Usage{PromptTokens: tokens, Cost: cost, CostKnown: cost > 0}) {
			t.Errorf("%s: %+v, %v; want %d tokens", o, got, err, tokens)
		}
	}
	o := MakeOrdinal(1, 0)
	want(o, 0, 0)
	l := openLog(t, s, o)
	mustWait(t, l.Append(start(), &Rejected{Usage: usage(1)}, &Turn{Usage: usage(10)}, &Sandbox{}, &Turn{Usage: usage(100)}))
	want(o, 111, 3)
	mustWait(t, l.Append(&Attempt{Parent: 0, ForkStep: 2, Reason: "sandbox_lost", Spent: usage(100)}, &Turn{Usage: usage(1000)}))
	want(o, 1111, 4)
	want(MakeOrdinal(2, 0), 0, 0)
}

func TestNextSession(t *testing.T) {
	s := newStore(t)
	register(t, s, 9)
	at := []Ordinal{MakeOrdinal(2, 0), MakeOrdinal(2, 1), MakeOrdinal(7, 0)}
	want := func(from, next Ordinal, found bool) {
		t.Helper()
		if o, ok, err := s.NextSession(from); o != next || ok != found || err != nil {
			t.Errorf("after %s comes %s, %t, %v; want %s, %t", from, o, ok, err, next, found)
		}
	}
	want(0, 0, false)
	for _, o := range at {
		mustWait(t, openLog(t, s, o).Append(start(), gpt("a")))
	}
	want(0, at[0], true)
	want(at[0], at[0], true)
	want(at[0]+1, at[1], true)
	want(at[1]+1, at[2], true)
	want(at[2]+1, 0, false)
}

func TestWentOn(t *testing.T) {
	s := newStore(t)
	register(t, s, 1)
	var out Outcome
	want := func(going bool) {
		t.Helper()
		if got, err := s.WentOn(0, out); got != going || err != nil {
			t.Errorf("%t, %v after %d steps of attempt %d", got, err, out.Steps, out.Attempt)
		}
	}
	end := func(l *Log) {
		t.Helper()
		mustWait(t, l.Finish(&Outcome{End: "failed"}))
		var err error
		if out, _, err = s.Outcome(0); err != nil {
			t.Fatal(err)
		}
	}
	want(false)
	l := openLog(t, s, 0)
	mustWait(t, l.Append(start()))
	want(true)
	end(l)
	want(false)
	mustWait(t, l.Append(&Retry{}))
	want(true)
	end(l)
	want(false)
	mustWait(t, l.Append(&Attempt{Parent: 0, ForkStep: 0}))
	want(true)
}
