package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// normaliser turns the body of a reply into a Reply, once, on arrival.
type normaliser struct {
	turn  int             // of the conversation, for the ids of calls without one
	taken map[string]bool // ids of the conversation's earlier calls
	mask  func(string) string
}

// normalise returns the reply, or why it cannot be used. Usage is in the reply
// in both cases.
func (n *normaliser) normalise(raw []byte) (*Reply, *fault) {
	r := &Reply{Raw: raw}
	object, f := replyObject(raw)
	if f != nil {
		return r, f
	}
	var w wireReply
	if err := decode(object, &w); err != nil {
		return r, replyFault(whyNoReply, "the reply is invalid JSON: "+err.Error())
	}
	r.Usage = usageOf(w.Usage)
	r.ID, r.Model = n.clean(w.ID), n.clean(w.Model)
	if hasError(w.Error) {
		return r, bodyFault(whyErrorBody, object)
	}
	for _, raw := range w.Choices {
		var choice wireChoice
		decode(raw, &choice)
		if hasError(choice.Error) {
			return r, bodyFault(whyErrorChoice, raw)
		}
		if firstByte(choice.Message) == '{' {
			return r, n.choice(r, &choice)
		}
	}
	if d := detailOf(object); d.object {
		return r, bodyFault(whyErrorBody, object)
	}
	return r, replyFault(whyEmptyChoices, "the reply has no choices")
}

// choice takes over one choice.
func (n *normaliser) choice(r *Reply, choice *wireChoice) *fault {
	var m wireMessage
	decode(choice.Message, &m)
	r.Finish = n.clean(choice.Finish)
	n.text(r, &m)
	n.calls(r, &m)
	r.Refusal = n.clean(m.Refusal)
	if r.Refusal == "" && refusedBy(r.Finish) {
		r.Refusal = r.Finish
	}
	return usable(r)
}

// refusedBy reports whether a finish reason is that of a moderated reply.
func refusedBy(finish string) bool {
	switch strings.ToLower(finish) {
	case "content_filter", "refusal", "safety":
		return true
	}
	return false
}

// usable says what keeps a reply from being used, nil if nothing does.
func usable(r *Reply) *fault {
	empty := strings.TrimSpace(r.Content) == "" && len(r.Calls) == 0 && r.Reasoning == ""
	finish := strings.ToLower(r.Finish)
	switch {
	case finish == "error":
		return replyFault(whyErrorChoice, "the provider failed in the middle of the reply")
	case r.Refusal != "":
		return nil
	case (finish == "length" || finish == "max_tokens") && (empty || len(r.Calls) > 0):
		return cutFault(whyCutCall, "the reply was cut at the token limit")
	case (finish == "tool_calls" || finish == "function_call") && len(r.Calls) == 0:
		return cutFault(whyLostCalls, "the reply announces tool calls and has none")
	case empty:
		f := replyFault(whyEmptyReply, "the reply is empty")
		f.reason = ReasonEmptyReply
		return f
	}
	return nil
}

// text gathers answer and reasoning.
func (n *normaliser) text(r *Reply, m *wireMessage) {
	content, parts := contentOf(m.Content)
	var thoughts gathered
	thoughts.add(fieldReasoningContent, n.clean(m.ReasoningContent))
	thoughts.add(fieldReasoning, n.clean(m.Reasoning))
	thoughts.add(fieldThinking, n.clean(m.Thinking))
	thoughts.add(fieldReasoningDetails, n.clean(text(m.ReasoningDetails)))
	thoughts.add(fieldThinkingBlocks, n.clean(text(m.ThinkingBlocks)))
	thoughts.add(fieldContent, n.clean(text(parts)))
	answer, block := splitThinking(n.clean(text(content)), thoughts.text == "")
	thoughts.add(fieldContent, block)
	r.Content, r.Reasoning, r.ReasoningField = answer, thoughts.text, thoughts.field
}

// gathered is reasoning from several fields.
type gathered struct{ text, field string }

// add adds the reasoning of a field, unless an earlier field had the same.
func (g *gathered) add(field, text string) {
	switch {
	case strings.TrimSpace(text) == "":
	case g.text == "":
		g.text, g.field = text, field
	case text == g.text || strings.Contains(squeeze(g.text), squeeze(text)):
	default:
		g.text = joinParagraphs(g.text, text)
	}
}

// squeeze takes all space out of a text.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// calls takes over the tool calls.
func (n *normaliser) calls(r *Reply, m *wireMessage) {
	entries := m.ToolCalls
	if len(entries) == 0 && firstByte(m.FunctionCall) == '{' {
		entries = list{m.FunctionCall}
	}
	seen := make(map[string]bool, len(entries))
	for _, raw := range entries {
		if firstByte(raw) != '{' {
			continue
		}
		var w wireCall
		decode(raw, &w)
		if w.Function != nil {
			w.Name, w.Arguments = w.Function.Name, w.Function.Arguments
		}
		if w.Name == "" && w.ID == "" && w.Arguments == nil {
			continue
		}
		call := ReplyCall{Name: n.clean(w.Name)}
		call.ID = n.uniqueID(n.clean(w.ID), len(r.Calls), seen)
		if call.setArguments(w.Arguments, n.maskString) {
			r.Repairs++
		}
		r.Calls = append(r.Calls, call)
	}
}

// uniqueID returns a call's id, or makes one where it is missing or taken: a
// letter, the turn and the index, nine letters and digits like the ids of the
// provider that is strictest about them.
func (n *normaliser) uniqueID(id string, index int, seen map[string]bool) string {
	for letter := 'c'; id == "" || seen[id] || n.taken[id]; letter++ {
		id = fmt.Sprintf("%c%05d%03d", letter, n.turn, index)
	}
	seen[id] = true
	return id
}

func (n *normaliser) clean(t text) string { return n.maskString(string(t)) }

func (n *normaliser) maskString(s string) string {
	if n.mask == nil || s == "" {
		return s
	}
	return n.mask(s)
}

// replyObject finds the JSON object in a body: some servers send a byte order
// mark, empty lines or comments before it to keep the connection alive.
func replyObject(raw []byte) ([]byte, *fault) {
	body := bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	for {
		body = bytes.TrimSpace(body)
		if len(body) == 0 || body[0] != ':' {
			break
		}
		_, body, _ = bytes.Cut(body, []byte("\n"))
	}
	switch {
	case len(body) == 0:
		return nil, replyFault(whyNoReply, "the reply has no body")
	case body[0] == '<':
		f := replyFault(whyNoReply, "the reply is a page: "+pageTitle(body))
		f.page = true
		return nil, f
	case body[0] != '{':
		return nil, replyFault(whyNoReply, "the reply is not JSON: "+string(body[:min(len(body), messageLimit)]))
	}
	return body, nil
}

// hasError reports whether an error field says that there was one.
func hasError(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "{}", `""`, "false", "[]", "0":
		return false
	}
	return true
}
