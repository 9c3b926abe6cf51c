package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"hermes-batch/db"
	"hermes-batch/engine/model"
	"hermes-batch/tools/sandbox"
)

// errHalt leaves a session without an outcome: the run stops and a resume goes
// on from its last committed step.
var errHalt = errors.New("halted")

// errPromptTimeout is the cause of a session's context at its deadline.
var errPromptTimeout = errors.New("prompt time limit")

// session is one prompt on its way to an outcome: a fold over its steps. Every
// step goes through apply, whether it is read back or just committed. It is
// used by one goroutine.
type session struct {
	run    *Run
	ord    db.Ordinal
	prompt db.Prompt
	log    *db.Log

	attempt   int // number of the current one
	position  int // steps in the thread
	offer     *offer
	set       *Settings
	settings  db.Hash
	conv      *model.Conversation
	facts     facts
	shell     sandbox.Shell
	turn      *openTurn // the last one
	turns     int
	invalid   int // turns in a row all of whose calls were invalid
	losses    int // sandboxes lost since the last retry
	continued continued

	box     workspace
	limit   *deadline
	resumed bool // the next call may have begun before
	last    *db.Commit
}

// work brings one prompt to its outcome. The error is nil or errHalt, or one
// that ends the run.
func (r *Run) work(ctx context.Context, ord db.Ordinal, prompt db.Prompt) (err error) {
	r.progress.begin(ord)
	defer r.progress.leave(ord)
	s := &session{run: r, ord: ord, prompt: prompt}
	defer func() {
		if p := recover(); p != nil {
			err = s.failPanicked(p, debug.Stack())
		}
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.limit = newDeadline(r.o.PromptTimeout, r.now, func() { cancel(errPromptTimeout) })
	defer s.limit.stop()
	defer s.leave()
	return s.live(ctx)
}

// failPanicked records the outcome of a session that panicked. What it holds in
// memory is not trusted any more: the facts come from its committed steps.
func (s *session) failPanicked(p any, stack []byte) (err error) {
	defer func() {
		if again := recover(); again != nil {
			err = fmt.Errorf("prompt %d: panic after a panic: %v", s.ord.Index(), again)
		}
	}()
	if helper, ok := p.(*panicError); ok {
		p, stack = helper.value, helper.stack
	}
	r := s.run
	text := r.mask.text(fmt.Sprint(p))
	r.log.Error("panic", "prompt", s.ord.Index(), "panic", text, "stack", r.mask.text(string(stack)))
	if err := s.durable(); err != nil {
		return err
	}
	again := &session{run: r, ord: s.ord, prompt: s.prompt, set: r.settings, settings: r.fingerprint, offer: &offer{}, facts: newFacts()}
	if again.log, err = r.store.Log(s.ord); err != nil {
		return err
	}
	t, err := again.read()
	if err != nil {
		return err
	}
	if len(t.recs) > 0 {
		if err := again.reset(t.recs); err != nil {
			return err
		}
		again.facts = *t.all()
	}
	return again.finish(end{db.EndFailed, reasonPanic, db.ClassPermanent, r.mask.line("panic: " + text)})
}

// live loads the session and takes it to its outcome.
func (s *session) live(ctx context.Context) error {
	if err := s.load(); err != nil {
		return err
	}
	if e, bad := s.unfit(); bad && s.turns == 0 {
		return s.finish(e)
	}
	for {
		err := s.step(ctx)
		var lost *lostError
		switch {
		case err == nil:
			continue
		case errors.Is(err, errDone):
			return nil
		case errors.As(err, &lost):
			err = s.fork(lost)
		default:
			err = s.fail(ctx, err)
		}
		if err != nil {
			return ignoreDone(err)
		}
	}
}

// errDone ends the loop of a session whose outcome is committed.
var errDone = errors.New("done")

func ignoreDone(err error) error {
	if errors.Is(err, errDone) {
		return nil
	}
	return err
}

// step does the one next thing: run the open calls, or end, or ask the model.
func (s *session) step(ctx context.Context) error {
	if s.turn != nil && s.turn.answered < len(s.turn.Entry.ToolCalls) {
		return s.runCalls(ctx)
	}
	if e, over := s.over(); over {
		return done(s.finish(e))
	}
	if err := s.mayGoOn(ctx); err != nil {
		return err
	}
	if err := s.reopenBox(ctx); err != nil {
		return err
	}
	return s.ask(ctx)
}

func done(err error) error {
	if err != nil {
		return err
	}
	return errDone
}

// mayGoOn is asked before anything new is begun.
func (s *session) mayGoOn(ctx context.Context) error {
	if s.run.stop.stopping() {
		return errHalt
	}
	return context.Cause(ctx)
}

// over tells how the session ended, from its last turn alone.
func (s *session) over() (end, bool) {
	if s.turn == nil {
		return end{}, false
	}
	entry := s.turn.Entry
	switch {
	case len(entry.ToolCalls) > 0 && s.invalid >= maxInvalidTurns:
		return end{end: db.EndPartial, reason: reasonInvalidCalls}, true
	case len(entry.ToolCalls) > 0 && s.turns >= s.set.MaxTurns:
		return end{end: db.EndIncomplete, reason: reasonMaxTurns}, true
	case len(entry.ToolCalls) > 0:
		return end{}, false
	case s.turn.Finish == finishCut:
		return end{end: db.EndPartial, reason: reasonCutReplies}, true
	case s.turn.Finish == finishRefusal:
		return end{end: db.EndIncomplete, reason: reasonRefusal}, true
	case isBlank(entry.Value):
		return end{end: db.EndIncomplete, reason: reasonOnlyReasoning}, true
	}
	return end{end: db.EndCompleted, reason: reasonAnswer}, true
}

// unfit tells what keeps a prompt from running at all, before any call.
func (s *session) unfit() (end, bool) {
	if s.prompt.Image != "" {
		return end{db.EndFailed, reasonImage, db.ClassPermanent,
			s.run.mask.line(fmt.Sprintf("the row asks for the image %q, and this version has no container sandbox", s.prompt.Image))}, true
	}
	switch err := sandbox.CheckCwd(s.prompt.Cwd); {
	case err != nil && s.box.recorded != nil: // it was there
		return end{db.EndFailed, reasonInfrastructure, db.ClassTransient, s.run.mask.line(err.Error())}, true
	case err != nil:
		return end{db.EndFailed, reasonCwd, db.ClassPermanent, s.run.mask.line(err.Error())}, true
	}
	return end{}, false
}

// ask calls the model and commits its reply.
func (s *session) ask(ctx context.Context) error {
	s.resumed = false
	conv := s.continued.apply(s.conv)
	request := db.Hash(conv.Hash())
	reply, err := s.run.client.Complete(ctx, conv, s.limit.waiting)
	if err != nil {
		return s.unanswered(err, request)
	}
	s.reject(reply.Rejected, request)
	if s.continued.open(reply) {
		rec := s.run.continuedOf(reply, request)
		s.run.progress.rejected(rec)
		s.append(rec)
		return s.durable()
	}
	turn := s.run.turnOf(reply)
	turn.Request = request
	turn.Entry.Value, turn.Entry.Reasoning = s.continued.whole(turn.Entry.Value, turn.Entry.Reasoning)
	s.repairNames(turn)
	s.run.progress.turn(s.ord, turn)
	recs := []db.Record{turn}
	box, err := s.earlyBox(ctx, turn)
	if box != nil {
		recs = append(recs, box)
	}
	s.append(recs...) // the turn in any case: it is paid for
	s.tellTurn(turn)
	if err != nil {
		return err
	}
	if len(turn.Entry.ToolCalls) == 0 {
		return nil // durable with the outcome
	}
	return s.durable()
}

// unanswered keeps what a call without a reply may have cost.
func (s *session) unanswered(err error, request db.Hash) error {
	var failed *model.Error
	var interrupted *model.Interrupted
	switch {
	case errors.As(err, &failed):
		s.reject(failed.Rejected, request)
		s.facts.failedTries += failed.Tries
		s.run.progress.gaveUp(failed.Tries)
	case errors.As(err, &interrupted):
		s.reject(interrupted.Rejected, request)
		s.facts.failedTries += interrupted.Tries
	}
	return err
}

func (s *session) reject(list []model.Rejected, request db.Hash) {
	for _, r := range list {
		rec := s.run.rejectedOf(r, request)
		s.run.progress.rejected(rec)
		s.append(rec)
	}
}

// append commits records in the background and applies them.
func (s *session) append(recs ...db.Record) {
	s.last = s.log.Append(recs...)
	attempt, step := s.log.Last()
	for i, rec := range recs {
		s.apply(attempt, step-len(recs)+1+i, rec)
	}
}

// durable waits until all that was appended is on disk.
func (s *session) durable() error {
	if s.last == nil {
		return nil
	}
	return s.run.commitErr(s.last.Wait(context.Background()))
}

// apply folds one step into the session.
func (s *session) apply(attempt, step int, rec db.Record) {
	s.attempt = attempt
	s.facts.add(rec)
	switch r := rec.(type) {
	case *db.Attempt:
		s.box.recorded = nil
		switch r.Reason {
		case attemptLost:
			s.losses++
		case attemptRetry:
			s.invalid, s.losses = 0, 0
		}
	case *db.Retry:
		s.invalid, s.losses = 0, 0
	case *db.Sandbox:
		s.box.recorded = r
	case *db.Turn:
		s.applyTurn(attempt, step, r)
	case *db.Result:
		s.applyResult(r)
	case *db.Rerun:
		s.turn.reruns[r.Call]++
	case *db.Rejected:
		s.continued.add(r)
	}
	s.position++
}

// finish commits the outcome and then gives up the sandbox.
func (s *session) finish(e end) error {
	out := s.facts.outcome(e, s.run.launch, s.run.now())
	out.Settings, out.Model, out.Toolsets = s.settings, s.set.Model, s.offer.toolsets
	if err := s.run.commitOutcome(s.log, s.ord, out); err != nil {
		return err
	}
	s.box.giveUp(s, e)
	return nil
}
