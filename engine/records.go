package engine

import (
	"strings"

	"hermes-batch/db"
	"hermes-batch/engine/model"
)

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
