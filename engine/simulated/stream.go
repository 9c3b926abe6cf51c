package simulated

import "bytes"

// chunk is a part of a streamed reply.
type chunk struct {
	ID      string        `json:"id"`
	Object  string        `json:"object"`
	Created int64         `json:"created"`
	Model   string        `json:"model"`
	Choices []chunkChoice `json:"choices"`
	Usage   *usage        `json:"usage,omitempty"`
}

type chunkChoice struct {
	Index  int     `json:"index"`
	Delta  delta   `json:"delta"`
	Finish *string `json:"finish_reason"`
}

type delta struct {
	Role      string      `json:"role,omitempty"`
	Content   string      `json:"content,omitempty"`
	Reasoning string      `json:"reasoning,omitempty"`
	Refusal   string      `json:"refusal,omitempty"`
	ToolCalls []deltaCall `json:"tool_calls,omitempty"`
}

type deltaCall struct {
	Index int `json:"index"`
	toolCall
}

// events is a reply as server-sent events: its reasoning, its content, each
// call, the finish reason and, if the client wants it, the usage.
func (c *completion) events(withUsage bool) []byte {
	said := c.Choices[0].Message
	deltas := []delta{{Role: "assistant", Reasoning: said.Reasoning}}
	if said.Content != nil || said.Refusal != "" {
		d := delta{Refusal: said.Refusal}
		if said.Content != nil {
			d.Content = *said.Content
		}
		deltas = append(deltas, d)
	}
	for i, call := range said.ToolCalls {
		deltas = append(deltas, delta{ToolCalls: []deltaCall{{i, call}}})
	}
	var b bytes.Buffer
	for _, d := range deltas {
		c.event(&b, []chunkChoice{{Delta: d}}, nil)
	}
	c.event(&b, []chunkChoice{{Finish: &c.Choices[0].Finish}}, nil)
	if withUsage {
		c.event(&b, []chunkChoice{}, &c.Usage)
	}
	b.WriteString("data: [DONE]\n\n")
	return b.Bytes()
}

func (c *completion) event(b *bytes.Buffer, choices []chunkChoice, u *usage) {
	b.WriteString("data: ")
	b.Write(encode(chunk{c.ID, "chat.completion.chunk", c.Created, c.Model, choices, u}))
	b.WriteByte('\n')
}
