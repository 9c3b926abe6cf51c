package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"hermes-batch/db"
	"hermes-batch/tools"
	"hermes-batch/tools/sandbox"
)

// How a call ended that never reached a tool.
const (
	statusInvalidTool = "invalid_tool" // no toolset has the name
	statusNotOffered  = "not_offered"  // a real tool that this session does not have
	statusCutOff      = "not_run"      // the prompt's time was up
)

// problem answers a call that cannot be run.
type problem struct{ status, text string }

// check finds the tool of the last turn's call number i, or why it cannot be
// run.
func (s *session) check(i int) (tools.Tool, *problem) {
	call := s.turn.Entry.ToolCalls[i]
	tool, offered := s.offer.find(call.Name)
	switch {
	case !offered && tools.Exists(call.Name):
		return nil, &problem{statusNotOffered, errorText("the tool %q is not available here; available tools: %s", call.Name, s.offer.list())}
	case !offered:
		return nil, &problem{statusInvalidTool, errorText("there is no tool %q; available tools: %s", call.Name, s.offer.list())}
	}
	for _, bad := range s.turn.BadCalls {
		if bad.Call == i {
			return nil, &problem{tools.StatusBadArguments, errorText("%s", bad.Why)}
		}
	}
	return tool, nil
}

// repairNames replaces near misses of the offered tools' names by what they
// mean. The reply's bytes keep the name that the model wrote.
func (s *session) repairNames(t *db.Turn) {
	for i, call := range t.Entry.ToolCalls {
		if _, offered := s.offer.find(call.Name); offered {
			continue
		}
		if meant, ok := tools.Repair(call.Name, s.offer.names); ok {
			t.Entry.ToolCalls[i].Name = meant
			t.Repairs++
		}
	}
}

// errorText is a tool result that holds nothing but an error.
func errorText(format string, args ...any) string {
	return `{"error": ` + quote(fmt.Sprintf(format, args...)) + `}`
}

// runCalls answers the next open call of the last turn, or several at once if
// they only read. Results are committed in the order of the calls.
func (s *session) runCalls(ctx context.Context) error {
	if err := s.mayGoOn(ctx); err != nil {
		return err
	}
	resumed := s.resumed // only the first open call can have begun before
	s.resumed = false
	n := s.sideBySide()
	if n > 1 {
		return s.runGroup(ctx, n)
	}
	i := s.turn.answered
	tool, refused := s.check(i)
	if refused != nil {
		s.answer(i, tools.Result{Text: refused.text, Status: refused.status}, s.run.now())
		return nil
	}
	if !tool.Spec().ReadOnly {
		if err := s.durable(); err != nil {
			return err
		}
	}
	return s.runOne(ctx, i, tool, resumed)
}

// sideBySide counts the open calls from the next one on that may run beside
// each other: known tools that only read. The first one that needs the sandbox
// begins a group of its own, so that the results before it do not depend on it.
func (s *session) sideBySide() int {
	n := 0
	for i := s.turn.answered; i < len(s.turn.Entry.ToolCalls); i++ {
		tool, refused := s.check(i)
		if refused != nil || !tool.Spec().ReadOnly || n > 0 && s.box.box == nil && tool.Spec().State != tools.StateNone {
			break
		}
		n++
	}
	return n
}

func (s *session) runGroup(ctx context.Context, n int) error {
	first := s.turn.answered
	results := make([]tools.Result, n)
	var group errgroup.Group
	group.SetLimit(maxSideBySide)
	began := s.run.now()
	list := make([]*tools.Call, n)
	for k := range n {
		tool, _ := s.check(first + k)
		box, err := s.boxFor(ctx, tool)
		if err != nil {
			return err
		}
		list[k] = s.callOf(first+k, box)
	}
	for k, call := range list {
		tool, _ := s.check(first + k)
		group.Go(func() (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = &panicError{p, debug.Stack()}
				}
			}()
			results[k], err = tools.Run(ctx, tool, call)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		var p *panicError
		if errors.As(err, &p) {
			panic(p)
		}
		return s.infrastructure(ctx, err)
	}
	for k, r := range results {
		s.answer(first+k, r, began)
	}
	return nil
}

// maxSideBySide bounds the read-only calls of one turn that run at once.
const maxSideBySide = 8

// panicError carries a panic from a helper goroutine to its session.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprint("panic: ", p.value) }

// runOne runs one call, or takes its result if an earlier life of this program
// had it begun.
func (s *session) runOne(ctx context.Context, i int, tool tools.Tool, resumed bool) error {
	began := s.run.now()
	box, err := s.boxFor(ctx, tool)
	if err != nil {
		return err
	}
	call := s.callOf(i, box)
	if resumed {
		result, known, err := s.recall(ctx, i, tool, call)
		if err != nil {
			return s.infrastructure(ctx, err)
		}
		if known {
			s.answer(i, result, began)
			return nil
		}
		call = s.callOf(i, box) // a rerun has a key of its own
	}
	result, err := tools.Run(ctx, tool, call)
	if err != nil {
		return s.infrastructure(ctx, err)
	}
	s.answer(i, result, began)
	return nil
}

// recall asks what became of a call that may have begun before this program
// started. A call that began and has no result is marked as run again.
func (s *session) recall(ctx context.Context, i int, tool tools.Tool, call *tools.Call) (tools.Result, bool, error) {
	if tool.Spec().State == tools.StateNone {
		return tools.Result{}, false, nil
	}
	result, state, err := tools.Recall(ctx, tool, call)
	switch {
	case err != nil:
		return result, false, err
	case state == sandbox.CallDone:
		return result, true, nil
	case state == sandbox.CallNever:
		return result, false, nil
	}
	s.append(&db.Rerun{Turn: s.turn.position, Call: i, Why: "it had begun and its end is unknown",
		Launch: s.run.launch, At: s.run.now()})
	return result, false, s.durable()
}

// callOf makes the call for a tool. Its key is the same after a restart.
func (s *session) callOf(i int, box sandbox.Sandbox) *tools.Call {
	key := fmt.Sprintf("%d-%d-%d", s.turn.attempt, s.turn.step, i)
	if again := s.turn.reruns[i]; again > 0 {
		key += fmt.Sprintf("-r%d", again)
	}
	return &tools.Call{Args: json.RawMessage(s.turn.Entry.ToolCalls[i].Arguments), Key: key, Sandbox: box, Shell: s.shell}
}

// infrastructure tells a lost sandbox and the end of the context apart from a
// tool that broke.
func (s *session) infrastructure(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, sandbox.ErrLost):
		return &lostError{err}
	}
	return &brokenError{err}
}

// brokenError is a tool or sandbox that does not work; it is no training
// sample.
type brokenError struct{ err error }

func (b *brokenError) Error() string { return b.err.Error() }
func (b *brokenError) Unwrap() error { return b.err }

// answer commits a result in the background.
func (s *session) answer(i int, r tools.Result, began time.Time) {
	now := s.run.now()
	call := s.turn.Entry.ToolCalls[i]
	rec := &db.Result{Turn: s.turn.position, Call: i, CallID: call.ID, Name: call.Name,
		Parts: append([]db.Part{{Type: db.PartText, Text: s.run.mask.text(r.Text)}}, s.fullParts(r.Full)...), Success: r.Success, Status: r.Status,
		Dropped: r.Dropped, Launch: s.run.launch, At: now, Took: now.Sub(began)}
	if r.Shell != nil {
		rec.Shell = &db.Shell{Cwd: r.Shell.Cwd, Env: s.run.mask.text(r.Shell.Env)}
	}
	s.append(rec)
	s.tellResult(rec)
}

// cutOff answers the open calls of a prompt whose time is up, so that its
// conversation stays well formed.
func (s *session) cutOff() {
	if s.turn == nil {
		return
	}
	for i := s.turn.answered; i < len(s.turn.Entry.ToolCalls); i++ {
		s.answer(i, tools.Result{Text: errorText("not finished: the time limit of the prompt was reached"), Status: statusCutOff}, s.run.now())
	}
}
