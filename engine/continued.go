package engine

import (
	"strings"

	"hermes-batch/db"
	"hermes-batch/engine/model"
)

const (
	// finishCut is the finish reason of a reply that reached the token limit.
	finishCut = "length"
	// maxContinued replies in a row may be cut before the turn is taken as it is.
	maxContinued = 3
	// whyContinued marks the stored beginning of a turn.
	whyContinued = "continued"
	// goOnText asks for the rest. It is sent, but stands in no output.
	goOnText = "Your answer was cut off by the length limit. Go on exactly where it stopped, without repeating anything."
)

// continued are the cut beginnings of the turn that is being asked for.
type continued []*db.Rejected

func (c *continued) add(r *db.Rejected) {
	if r.Why == whyContinued {
		*c = append(*c, r)
	}
}

// open tells whether a reply is one more beginning.
func (c continued) open(reply *model.Reply) bool {
	return reply.Finish == finishCut && len(reply.Calls) == 0 && reply.Refusal == "" && !isBlank(reply.Content) && len(c) < maxContinued
}

// apply is the conversation that asks for the rest.
func (c continued) apply(conv *model.Conversation) *model.Conversation {
	if len(c) == 0 {
		return conv
	}
	conv = conv.Clone()
	for _, part := range c {
		conv.Append(model.Message{Role: "assistant", Content: part.Text}, model.Message{Role: "user", Content: goOnText})
	}
	return conv
}

// whole puts the beginnings before the rest of a turn.
func (c continued) whole(value, reasoning string) (string, string) {
	var text, thoughts []string
	for _, part := range c {
		text = append(text, part.Text)
		if part.Thought != "" {
			thoughts = append(thoughts, part.Thought)
		}
	}
	if reasoning != "" {
		thoughts = append(thoughts, reasoning)
	}
	return strings.Join(append(text, value), ""), strings.Join(thoughts, "\n\n")
}

func (r *Run) continuedOf(reply *model.Reply, request db.Hash) *db.Rejected {
	return &db.Rejected{Raw: reply.Raw, Request: request, Usage: usageOf(reply.Usage), Why: whyContinued,
		Text: reply.Content, Thought: reply.Reasoning, Tries: reply.Tries, Launch: r.launch, At: reply.At, Took: reply.Took}
}
