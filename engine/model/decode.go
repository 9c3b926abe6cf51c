package model

import (
	"bytes"
	"encoding/json"
	"strings"
)

// The decoder takes a field for what it is, not for what it should be: a field
// of an unexpected type is empty and never spoils the others. encoding/json
// replaces lone surrogates and bytes that are no UTF-8 by U+FFFD.

// wireReply is the body of a reply.
type wireReply struct {
	ID      text            `json:"id"`
	Model   text            `json:"model"`
	Choices list            `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type wireChoice struct {
	Finish  text            `json:"finish_reason"`
	Message json.RawMessage `json:"message"`
	Error   json.RawMessage `json:"error"`
}

type wireMessage struct {
	Content          json.RawMessage `json:"content"`
	Refusal          text            `json:"refusal"`
	ToolCalls        list            `json:"tool_calls"`
	FunctionCall     json.RawMessage `json:"function_call"`
	Reasoning        text            `json:"reasoning"`
	ReasoningContent text            `json:"reasoning_content"`
	ReasoningDetails paragraphs      `json:"reasoning_details"`
	Thinking         text            `json:"thinking"`
	ThinkingBlocks   paragraphs      `json:"thinking_blocks"`
}

// wireCall is a tool call; some servers leave the function object out.
type wireCall struct {
	ID        text            `json:"id"`
	Function  *wireFunction   `json:"function"`
	Name      text            `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type wireFunction struct {
	Name      text            `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// decode decodes a JSON value as far as the types match.
func decode(raw []byte, v any) error {
	err := json.Unmarshal(raw, v)
	if _, mismatch := err.(*json.UnmarshalTypeError); mismatch {
		return nil
	}
	return err
}

// text is a string, wherever it stands: itself, or the texts of a list of
// parts, or the text of an object.
type text string

func (t *text) UnmarshalJSON(raw []byte) error {
	*t = text(textOf(raw, "", textDepth))
	return nil
}

// paragraphs is like text, with empty lines between the items of a list.
type paragraphs string

func (p *paragraphs) UnmarshalJSON(raw []byte) error {
	*p = paragraphs(textOf(raw, "\n\n", textDepth))
	return nil
}

// list is the items of a list. A single object counts as a list of one.
type list []json.RawMessage

func (l *list) UnmarshalJSON(raw []byte) error {
	*l = nil
	switch firstByte(raw) {
	case '[':
		return json.Unmarshal(raw, (*[]json.RawMessage)(l))
	case '{':
		*l = list{bytes.Clone(raw)}
	}
	return nil
}

// textKeys are where objects keep their text, by precedence.
type textKeys struct {
	Text      json.RawMessage `json:"text"`
	Summary   json.RawMessage `json:"summary"`
	Thinking  json.RawMessage `json:"thinking"`
	Reasoning json.RawMessage `json:"reasoning"`
	Content   json.RawMessage `json:"content"`
}

func (k *textKeys) values() []json.RawMessage {
	return []json.RawMessage{k.Text, k.Summary, k.Thinking, k.Reasoning, k.Content}
}

// textDepth is how deep texts may lie in lists and objects: real servers need
// four, and each level costs a pass over the value.
const textDepth = 6

// textOf finds the text in a value. Items of a list are joined with sep.
func textOf(raw json.RawMessage, sep string, depth int) string {
	if depth == 0 {
		return ""
	}
	switch firstByte(raw) {
	case '"':
		var s string
		json.Unmarshal(raw, &s)
		return s
	case '[':
		var items []json.RawMessage
		var found []string
		json.Unmarshal(raw, &items)
		for _, item := range items {
			if s := textOf(item, sep, depth-1); s != "" {
				found = append(found, s)
			}
		}
		return strings.Join(found, sep)
	case '{':
		var keys textKeys
		decode(raw, &keys)
		for _, value := range keys.values() {
			if s := textOf(value, sep, depth-1); s != "" {
				return s
			}
		}
	}
	return ""
}

// contentOf splits a message's content, a string or a list of parts, into the
// answer and the reasoning that some servers put among the parts.
func contentOf(raw json.RawMessage) (content, reasoning string) {
	if firstByte(raw) != '[' {
		return textOf(raw, "", textDepth), ""
	}
	var parts []json.RawMessage
	json.Unmarshal(raw, &parts)
	var answer, thoughts strings.Builder
	for _, part := range parts {
		var head struct {
			Type text `json:"type"`
		}
		decode(part, &head)
		if head.Type == "thinking" || head.Type == "reasoning" {
			thoughts.WriteString(textOf(part, "", textDepth))
		} else {
			answer.WriteString(textOf(part, "", textDepth))
		}
	}
	return answer.String(), thoughts.String()
}

// firstByte returns the first byte of a JSON value, 0 if there is none.
func firstByte(raw []byte) byte {
	for _, c := range raw {
		switch c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}
