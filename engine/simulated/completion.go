package simulated

import (
	"encoding/hex"
	"strconv"
)

// completion is the wire form of a reply.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"` // always 0: a reply does not depend on the time
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   usage    `json:"usage"`
}

type choice struct {
	Index   int    `json:"index"`
	Message spoken `json:"message"`
	Finish  string `json:"finish_reason"`
}

type spoken struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"`
	Reasoning string     `json:"reasoning,omitempty"`
	Refusal   string     `json:"refusal,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type usage struct {
	Prompt     int     `json:"prompt_tokens"`
	Completion int     `json:"completion_tokens"`
	Total      int     `json:"total_tokens"`
	Details    details `json:"completion_tokens_details"`
}

type details struct {
	Reasoning int `json:"reasoning_tokens"`
}

// complete puts a move into the wire form. The model is always named by its
// true name, whatever the request calls it.
func (r *request) complete(k key, m move) *completion {
	message := spoken{Role: "assistant", Reasoning: m.thought, Refusal: m.refusal}
	if m.say != "" {
		message.Content = &m.say
	}
	name := hex.EncodeToString(k[:12])
	for i, c := range m.calls {
		message.ToolCalls = append(message.ToolCalls, toolCall{"call_" + name + "_" + strconv.Itoa(i), "function", function{c.name, c.arguments}})
	}
	return &completion{
		ID: "chatcmpl-" + name, Object: "chat.completion", Model: Model,
		Choices: []choice{{Message: message, Finish: m.ending()}},
		Usage:   r.usage(m),
	}
}

func (m move) ending() string {
	switch {
	case m.finish != "":
		return m.finish
	case len(m.calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// usage estimates tokens.
func (r *request) usage(m move) usage {
	size := len(m.say) + len(m.refusal)
	for _, c := range m.calls {
		size += len(c.name) + len(c.arguments)
	}
	u := usage{Prompt: tokens(r.size), Completion: tokens(size)}
	if m.thought != "" {
		u.Details.Reasoning = tokens(len(m.thought))
		u.Completion += u.Details.Reasoning
	}
	u.Total = u.Prompt + u.Completion
	return u
}

// tokens is a rough number of tokens for a size in bytes, at least one.
func tokens(size int) int { return max(1, size/4) }
