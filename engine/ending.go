package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hermes-batch/db"
	"hermes-batch/engine/model"
	"hermes-batch/tools/sandbox"
)

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
		return done(s.finish(end{endFailed, reasonCwd, classPermanent, s.run.mask.text(oneLine(err.Error()))}))
	case errors.As(err, &broken):
		return done(s.finish(end{endFailed, reasonInfrastructure, classTransient, s.run.mask.text(oneLine(err.Error()))}))
	}
	return err
}

// failCall ends a prompt whose model call was given up.
func (s *session) failCall(e *model.Error) error {
	message := s.run.mask.text(oneLine(e.Error()))
	switch {
	case e.Class == model.Fatal:
		s.run.stop.begin(&stopError{e.Reason, fmt.Errorf("%w\n%s; --resume goes on", e, stopHints[e.Reason])})
		return errHalt
	case e.Reason == model.ReasonContext:
		return done(s.finish(end{end: endIncomplete, reason: reasonContext, message: message}))
	case e.Reason == model.ReasonRefusal:
		return done(s.finish(end{end: endIncomplete, reason: reasonRefusal, message: message}))
	case e.Reason == model.ReasonCutReplies:
		return done(s.finish(end{end: endPartial, reason: reasonCutReplies, message: message}))
	case e.Class == model.Permanent:
		return done(s.finish(end{endFailed, e.Reason, classPermanent, message}))
	}
	return done(s.finish(end{endFailed, e.Reason, classTransient, message}))
}

// stopHints say what the user can do about errors that end a run.
var stopHints = map[string]string{
	model.ReasonCredentials: "check the key and that it goes with --base_url",
	model.ReasonPayment:     "the account needs credit",
	model.ReasonEndpoint:    "is the server running, and is --base_url right?",
	model.ReasonRateLimit:   "the endpoint wants nothing until then",
}

// timeUp ends a prompt at its deadline.
func (s *session) timeUp() error {
	s.cutOff()
	if s.turns == 0 {
		return done(s.finish(end{endFailed, reasonTimeout, classTransient, "no reply within the time limit of the prompt (--prompt_timeout)"}))
	}
	return done(s.finish(end{end: endIncomplete, reason: reasonPromptTimeout}))
}

// turnOf makes the record of a reply.
func (r *Run) turnOf(reply *model.Reply) *db.Turn {
	t := &db.Turn{
		Entry: db.Entry{From: "gpt", Value: reply.Content, Reasoning: reply.Reasoning},
		Raw:   reply.Raw, Usage: usageOf(reply.Usage), Finish: reply.Finish, ReasoningField: reply.ReasoningField,
		Repairs: reply.Repairs, Tries: reply.Tries, Launch: r.launch, At: reply.At, Took: reply.Took,
	}
	if reply.Refusal != "" && len(reply.Calls) == 0 {
		t.Finish = finishRefusal
		if isBlank(t.Entry.Value) {
			t.Entry.Value = reply.Refusal
		}
	}
	for i, c := range reply.Calls {
		t.Entry.ToolCalls = append(t.Entry.ToolCalls, db.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
		if c.Bad != "" {
			t.BadCalls = append(t.BadCalls, db.BadCall{Call: i, Why: c.Bad})
		}
	}
	return t
}

func (r *Run) rejectedOf(x model.Rejected, request db.Hash) *db.Rejected {
	return &db.Rejected{Raw: x.Raw, Request: request, Usage: usageOf(x.Usage), Why: x.Why, Status: x.Status,
		Launch: r.launch, At: x.At, Took: x.Took}
}

func usageOf(u model.Usage) db.Usage {
	return db.Usage{PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, ReasoningTokens: u.ReasoningTokens,
		CachedTokens: u.CachedTokens, Cost: u.Cost, CostKnown: u.CostKnown}
}

// assistantMessage is a turn as the next request carries it.
func assistantMessage(t *db.Turn) model.Message {
	m := model.Message{Role: "assistant", Content: t.Entry.Value, Reasoning: t.Entry.Reasoning, ReasoningField: t.ReasoningField}
	for _, c := range t.Entry.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, model.Call{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	return m
}

// params are the requests' common part for one session.
func (s *Settings) params(kind model.Kind, definitions []byte, p db.Prompt, ord db.Ordinal) model.Params {
	return model.Params{Kind: kind, Model: s.Model, MaxTokens: s.MaxTokens, Reasoning: s.Reasoning, ReasoningEffort: s.ReasoningEffort,
		Provider: s.Provider, Tools: definitions, System: s.EphemeralPrompt, Prefill: s.Prefill,
		Copy: int(p.Copy), Rollout: ord.Rollout()}
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }
