package simulated

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"strings"
)

// request is what the model looks at of one chat completion request.
type request struct {
	prompt      string   // text of the last user message that does not just ask to go on
	turn        int      // assistant messages since the prompt
	past        []turn   // those of them that called tools
	offered     []string // names of the offered tools, as they came
	reasoning   bool     // false: the client switched reasoning off
	stream      bool
	streamUsage bool
	size        int // bytes of the body
}

// turn is an assistant message that called tools, with what they returned.
type turn struct {
	ids     []string
	results []string // by position of the call; "" where there is none
	filled  []bool
}

// key names one turn of one prompt. Ids and all drawn numbers come from it.
type key [16]byte

func (r *request) key() key {
	h := sha256.New()
	h.Write([]byte(r.prompt))
	h.Write(appendUint(nil, uint64(r.turn)))
	return key(h.Sum(nil)[:len(key{})])
}

// number draws a number from the key; the same name draws the same number.
func (k key) number(name string) uint64 {
	sum := sha256.Sum256(append(k[:], name...))
	return binary.BigEndian.Uint64(sum[:])
}

func appendUint(b []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(b, n) }

func (r *request) offers(tool string) bool {
	for _, name := range r.offered {
		if name == tool {
			return true
		}
	}
	return false
}

// body is the part of the wire form that is decoded.
type body struct {
	Messages      []message `json:"messages"`
	Tools         []tool    `json:"tools"`
	Stream        bool      `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	ReasoningEffort string `json:"reasoning_effort"`
	Reasoning       struct {
		Enabled *bool  `json:"enabled"`
		Effort  string `json:"effort"`
	} `json:"reasoning"`
}

type message struct {
	Role       string `json:"role"`
	Content    any    `json:"content"` // text, a list of parts, or null
	ToolCalls  []id   `json:"tool_calls"`
	ToolCallID string `json:"tool_call_id"`
}

type id struct {
	ID string `json:"id"`
}

type tool struct {
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

// decodeRequest reads a request body.
func decodeRequest(data []byte) (*request, error) {
	var b body
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, err
	}
	if len(b.Messages) == 0 {
		return nil, errNoMessages
	}
	r := &request{stream: b.Stream, streamUsage: b.StreamOptions.IncludeUsage, size: len(data)}
	r.reasoning = b.reasons()
	for _, t := range b.Tools {
		r.offered = append(r.offered, t.Function.Name)
	}
	for i := range b.Messages {
		r.add(&b.Messages[i])
	}
	return r, nil
}

func (b *body) reasons() bool {
	off := b.Reasoning.Enabled != nil && !*b.Reasoning.Enabled
	return !off && b.Reasoning.Effort != "none" && b.ReasoningEffort != "none"
}

// add takes the next message. A user message begins anew, so that messages put
// before the prompt (examples, an older talk) do not count as its turns.
func (r *request) add(m *message) {
	switch m.Role {
	case "user":
		text := textOf(m.Content)
		if r.turn > 0 && goesOn(text) {
			return
		}
		r.prompt, r.turn, r.past = text, 0, nil
	case "assistant":
		r.turn++
		if n := len(m.ToolCalls); n > 0 {
			r.past = append(r.past, newTurn(m.ToolCalls))
		}
	case "tool":
		if n := len(r.past); n > 0 {
			r.past[n-1].fill(m.ToolCallID, textOf(m.Content))
		}
	}
}

func newTurn(calls []id) turn {
	t := turn{results: make([]string, len(calls)), filled: make([]bool, len(calls))}
	for _, c := range calls {
		t.ids = append(t.ids, c.ID)
	}
	return t
}

// fill puts a result where its id says, or else to the first call without one.
func (t *turn) fill(id, text string) {
	free := -1
	for i := range t.ids {
		if t.filled[i] {
			continue
		}
		if t.ids[i] == id {
			free = i
			break
		}
		if free < 0 {
			free = i
		}
	}
	if free >= 0 {
		t.results[free], t.filled[free] = text, true
	}
}

// goesOn tells a client's call to finish a cut answer from a prompt.
func goesOn(text string) bool {
	t := strings.ToLower(strings.TrimSpace(text))
	t = strings.TrimPrefix(t, "please ")
	switch {
	case len(t) > 400:
		return false
	case strings.HasPrefix(t, "continue"):
		return len(t) <= len("continue...") || strings.Contains(t, "left off")
	}
	return strings.Contains(t, "cut off") && strings.Contains(t, "go on")
}

func textOf(content any) string {
	switch c := content.(type) {
	case string:
		return c
	case []any:
		return textOfParts(c)
	}
	return ""
}

func textOfParts(parts []any) string {
	var text strings.Builder
	for _, p := range parts {
		if part, ok := p.(map[string]any); ok {
			s, _ := part["text"].(string)
			text.WriteString(s)
		}
	}
	return text.String()
}
