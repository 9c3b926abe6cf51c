package export

import (
	"testing"

	"hermes-batch/db"
)

// paid is a turn that cost something.
func paid(tokens int64, calls ...db.ToolCall) *db.Turn {
	turn := gpt("", "thought", calls...)
	turn.Usage = db.Usage{PromptTokens: tokens, CompletionTokens: 1, Cost: 0.5, CostKnown: true}
	return turn
}

// TestStatisticsCountWhatUnfinishedSessionsCost: what a session spends until it
// is interrupted is paid for, and is not counted again when it goes on.
func TestStatisticsCountWhatUnfinishedSessionsCost(t *testing.T) {
	const tokens, turns = 1_111_119, 8
	call := db.ToolCall{ID: "a", Name: "terminal", Arguments: "{}"}
	usage := func(tokens int64, turns int) db.Usage {
		return db.Usage{PromptTokens: tokens, CompletionTokens: int64(turns), Cost: 0.5 * float64(turns), CostKnown: true}
	}
	spent := func(out *db.Outcome, tokens int64, turns int) *db.Outcome {
		out.Spent = usage(tokens, turns)
		return out
	}
	f := newFixture(t)
	f.register(2, nil, numbered(9)...)
	session := func(index int, out *db.Outcome, recs ...db.Record) { f.session(db.MakeOrdinal(index, 0), out, recs...) }
	session(0, nil, begun(), paid(1, call), &db.Rejected{Usage: usage(1, 0)})
	session(1, spent(completed(), 10, 1), begun(), paid(10))
	session(2, spent(failed("transient", "server"), 100, 1), begun(), paid(100, call))
	session(2, nil, result(0, "a", "terminal", "x"), &db.Retry{}, paid(1000, call)) // tried again
	session(4, spent(completed(), 10_000, 1), begun(), paid(10_000))
	session(5, nil, begun(), paid(7, call), &db.Attempt{Parent: 0, ForkStep: 0, Spent: usage(7, 1)}, paid(100_000))
	session(6, nil, begun())
	session(8, nil, begun(), paid(1_000_000))

	want := func(rep *Report) {
		t.Helper()
		if got := rep.Statistics.Usage.Spent; got != usageOf(usage(tokens, turns)) {
			t.Errorf("spent %+v", got)
		}
	}
	rep := f.render(f.renderer(Options{}), Stop)
	want(rep)
	if rep.Statistics.Pending != 6 {
		t.Errorf("%d are pending", rep.Statistics.Pending)
	}
	r := f.renderer(Options{})
	session(0, spent(completed(), 2, 1))
	f.render(r, Background) // what runs ahead has seen batch 0
	session(2, spent(completed(), 1100, 2), result(0, "a", "terminal", "x"))
	session(3, spent(completed(), 0, 0), begun())
	f.render(r, Background)
	session(5, spent(completed(), 100_007, 2))
	session(6, spent(completed(), 0, 0))
	session(7, spent(completed(), 0, 0), begun())
	session(8, spent(completed(), 1_000_000, 1))
	want(f.render(r, Final))
}
