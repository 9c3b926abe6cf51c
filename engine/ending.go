package engine

import (
	"context"
	"errors"

	"hermes-batch/db"
	"hermes-batch/engine/model"
	"hermes-batch/tools/sandbox"
)

// Reasons of ends, as the store records them.
const (
	reasonAnswer        = "answer"
	reasonMaxTurns      = "max_turns"
	reasonPromptTimeout = "prompt_timeout"
	reasonBudget        = "budget"
	reasonContext       = "context"
	reasonRefusal       = "refusal"
	reasonOnlyReasoning = "only_reasoning"
	reasonInvalidCalls  = "invalid_tool_calls"
	reasonCutReplies    = "cut_replies"

	reasonTimeout        = "timeout"
	reasonInfrastructure = "infrastructure"
	reasonSandboxLost    = "sandbox_lost"
	reasonImage          = "image"
	reasonCwd            = "cwd"
	reasonPanic          = "panic"
)

// end is how a prompt ended.
type end struct {
	end, reason, class, message string
}

// finishRefusal marks a turn that is the model's refusal.
const finishRefusal = "refusal"

// fail turns an error of a step into the outcome that it means. Errors that
// concern the run come back.
func (s *session) fail(ctx context.Context, err error) error {
	var call *model.Error
	var broken *brokenError
	switch {
	case errors.Is(err, errHalt):
		return errHalt
	case errors.Is(context.Cause(ctx), errPromptTimeout):
		return s.timeUp()
	case ctx.Err() != nil:
		return errHalt
	case errors.As(err, &call):
		return s.failCall(call)
	case errors.Is(err, sandbox.ErrCwd) && s.box.recorded == nil: // no file system takes the name
		return done(s.finish(end{db.EndFailed, reasonCwd, db.ClassPermanent, s.run.mask.line(err.Error())}))
	case errors.As(err, &broken):
		return done(s.finish(end{db.EndFailed, reasonInfrastructure, db.ClassTransient, s.run.mask.line(err.Error())}))
	}
	return err
}

// failCall ends a prompt whose model call was given up.
func (s *session) failCall(e *model.Error) error {
	message := s.run.mask.line(e.Error())
	switch {
	case e.Class == model.Fatal:
		s.run.stop.begin(&stopError{e.Reason, &advisedError{e, stopAdvice[e.Reason]}})
		return errHalt
	case e.Reason == model.ReasonContext:
		return done(s.finish(end{end: db.EndIncomplete, reason: reasonContext, message: message}))
	case e.Reason == model.ReasonRefusal:
		return done(s.finish(end{end: db.EndIncomplete, reason: reasonRefusal, message: message}))
	case e.Reason == model.ReasonCutReplies:
		return done(s.finish(end{end: db.EndPartial, reason: reasonCutReplies, message: message}))
	case e.Class == model.Permanent:
		return done(s.finish(end{db.EndFailed, e.Reason, db.ClassPermanent, message}))
	}
	return done(s.finish(end{db.EndFailed, e.Reason, db.ClassTransient, message}))
}

// stopAdvice says what the user can do about errors that end a run.
var stopAdvice = map[string]string{
	model.ReasonCredentials: "check the key and that it goes with --base_url; --resume goes on",
	model.ReasonPayment:     "the account needs credit; --resume goes on",
	model.ReasonEndpoint:    "is the server running, and is --base_url right? --resume goes on",
	model.ReasonRateLimit:   "the endpoint wants nothing until then; --resume goes on",
}

// timeUp ends a prompt at its deadline.
func (s *session) timeUp() error {
	s.cutOff()
	if s.turns == 0 {
		return done(s.finish(end{db.EndFailed, reasonTimeout, db.ClassTransient, "no reply within the time limit of the prompt (--prompt_timeout)"}))
	}
	return done(s.finish(end{end: db.EndIncomplete, reason: reasonPromptTimeout}))
}
