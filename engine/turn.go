package engine

import (
	"slices"

	"hermes-batch/db"
	"hermes-batch/engine/model"
	"hermes-batch/tools"
	"hermes-batch/tools/sandbox"
)

// maxInvalidTurns in a row, all of whose calls were invalid, end a prompt.
const maxInvalidTurns = 3

// openTurn is a model turn and what became of its calls.
type openTurn struct {
	*db.Turn
	attempt, step, position int
	answered                int // calls that have a result, from the first on
	invalid                 int // calls among them that are invalid
	reruns                  map[int]int

	// Calls whose arguments their tools refused, in this turn and in the one before.
	refused, refusedBefore []db.ToolCall
}

func (s *session) applyTurn(attempt, step int, t *db.Turn) {
	turn := &openTurn{Turn: t, attempt: attempt, step: step, position: s.position, reruns: map[int]int{}}
	if s.turn != nil {
		turn.refusedBefore = s.turn.refused
	}
	s.turn = turn
	s.turns++
	s.continued = nil
	s.conv.Append(assistantMessage(t))
}

func (s *session) applyResult(r *db.Result) {
	if r.Shell != nil {
		s.shell = sandbox.Shell{Cwd: r.Shell.Cwd, Env: r.Shell.Env}
	}
	s.judge(r)
	s.turn.answered++
	switch len(s.turn.Entry.ToolCalls) {
	case s.turn.invalid:
		s.invalid++
	case s.turn.answered:
		s.invalid = 0
	}
	s.conv.Append(model.Message{Role: "tool", ToolCallID: r.CallID, Name: r.Name, Content: r.Text()})
}

// judge counts a call that is invalid: one that no tool takes, or one whose
// arguments its tool refuses, when it comes again as it was in the turn before.
// A model that tries other arguments is on its way; one that repeats refused
// ones cannot succeed. Calls that failed otherwise may: the world changes.
func (s *session) judge(r *db.Result) {
	if _, problem := s.check(r.Call); problem != nil {
		s.turn.invalid++
		return
	}
	if r.Status != tools.StatusBadArguments {
		return
	}
	call := s.turn.Entry.ToolCalls[r.Call]
	s.turn.refused = append(s.turn.refused, call)
	if slices.ContainsFunc(s.turn.refusedBefore, func(b db.ToolCall) bool { return b.Name == call.Name && b.Arguments == call.Arguments }) {
		s.turn.invalid++
	}
}
