package model

import (
	"encoding/json"
	"hash"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Params are what all requests of a conversation have in common.
type Params struct {
	Kind            Kind // of the endpoint that the requests go to
	Model           string
	MaxTokens       int             // of one reply; 0: the model's own limit
	Reasoning       json.RawMessage // value of "reasoning"; nil: none
	ReasoningEffort string          // value of "reasoning_effort"; empty: none
	Provider        json.RawMessage // value of "provider"; nil: none
	Tools           json.RawMessage // array of tool definitions as sent; nil: none
	System          string          // empty: no system message
	Prefill         []Message       // placed before the prompt
	Copy, Rollout   int             // which copy of the prompt, which rollout: part of the hash, not sent
}

// Message is one message of a conversation.
type Message struct {
	Role           string // system, user, assistant or tool
	Content        string
	Reasoning      string // of an assistant
	ReasoningField string // field in which the reasoning came
	ToolCalls      []Call
	ToolCallID     string // of a tool result
	Name           string // of the tool, in a tool result
}

// Call is a tool call of the model. Arguments is the text of a JSON object.
type Call struct {
	ID, Name, Arguments string
}

// Conversation is a list of messages, each encoded once, when it is appended.
// It belongs to one goroutine.
type Conversation struct {
	params   Params
	head     []byte   // up to the first message
	messages [][]byte // never changed once appended: requests in flight read them
	tail     []byte   // options after the messages and the token limit
	hash     hash.Hash
	turns    int // assistant turns after the prompt
	ids      map[string]bool
}

// NewConversation begins a conversation with the system message, the prefill
// and the prompt.
func NewConversation(p Params, prompt string) *Conversation {
	c := &Conversation{params: p, hash: newRequestHash(p), ids: make(map[string]bool)}
	c.head = append(appendString([]byte(`{"model":`), valid(p.Model)), `,"messages":[`...)
	c.tail = appendOptions(nil, p)
	if p.System != "" {
		c.Append(Message{Role: "system", Content: p.System})
	}
	c.Append(p.Prefill...)
	c.Append(Message{Role: "user", Content: prompt})
	c.turns = 0
	return c
}

// appendOptions encodes what follows the token limit, but for the tools.
func appendOptions(b []byte, p Params) []byte {
	raw := func(name string, value json.RawMessage) {
		if value != nil {
			b = append(b, ',', '"')
			b = append(b, name...)
			b = append(b, '"', ':')
			b = append(b, value...)
		}
	}
	raw("reasoning", p.Reasoning)
	if p.ReasoningEffort != "" {
		raw("reasoning_effort", appendString(nil, p.ReasoningEffort))
	}
	raw("provider", p.Provider)
	return b
}

// Append adds messages.
func (c *Conversation) Append(messages ...Message) {
	for _, m := range messages {
		m = m.valid()
		hashMessage(c.hash, m)
		b := make([]byte, 0, m.encodedSize())
		if len(c.messages) > 0 {
			b = append(b, ',')
		}
		c.messages = append(c.messages, appendMessage(b, m, echoField(c.params.Kind, m.ReasoningField)))
		if m.Role == "assistant" {
			c.turns++
		}
		for _, call := range m.ToolCalls {
			c.ids[call.ID] = true
		}
	}
}

// Clone returns a conversation with the same messages that goes on by itself.
func (c *Conversation) Clone() *Conversation {
	sum, err := c.hash.(hash.Cloner).Clone()
	if err != nil {
		panic(err) // sha256 never refuses
	}
	twin := *c
	twin.hash, twin.messages, twin.ids = sum, slices.Clip(c.messages), maps.Clone(c.ids)
	return &twin
}

// tokenLimit returns the encoded limit under the given name.
func (c *Conversation) tokenLimit(name string) []byte {
	if c.params.MaxTokens <= 0 {
		return nil
	}
	return strconv.AppendInt([]byte(`,"`+name+`":`), int64(c.params.MaxTokens), 10)
}

// body returns the request's body as it stands now, without copying it.
func (c *Conversation) body(limitName string) body {
	parts := make([][]byte, 0, len(c.messages)+7)
	parts = append(parts, c.head)
	parts = append(parts, c.messages...)
	parts = append(parts, []byte("]"), c.tokenLimit(limitName), c.tail)
	if len(c.params.Tools) > 0 {
		parts = append(parts, []byte(`,"tools":`), c.params.Tools)
	}
	return newBody(append(parts, []byte("}")))
}

// encodedSize is about what the message takes when it is encoded.
func (m *Message) encodedSize() int {
	n := 128 + len(m.Content) + len(m.Content)/16 + len(m.Reasoning)
	for _, call := range m.ToolCalls {
		n += 128 + len(call.Arguments) + len(call.Arguments)/4
	}
	return n
}

// valid returns the message with U+FFFD for bytes that are no UTF-8, so that
// what is sent, hashed and stored is the same.
func (m Message) valid() Message {
	m.Content, m.Reasoning, m.Name, m.ToolCallID = valid(m.Content), valid(m.Reasoning), valid(m.Name), valid(m.ToolCallID)
	for i, call := range m.ToolCalls {
		if fixed := (Call{valid(call.ID), valid(call.Name), valid(call.Arguments)}); fixed != call {
			calls := append([]Call(nil), m.ToolCalls...)
			calls[i], m.ToolCalls = fixed, calls
		}
	}
	return m
}

// valid replaces each byte that is not part of UTF-8 by U+FFFD, as
// encoding/json does.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
