package db

import "encoding/json"

// Entry is one message of a conversation as it is rendered. From is "human",
// "gpt" or "tool".
type Entry struct {
	From       string     `json:"from"`
	Value      string     `json:"value"`
	Reasoning  string     `json:"reasoning"`
	ToolCalls  []ToolCall `json:"tool_calls"`
	ToolCallID string     `json:"tool_call_id"`
	Name       string     `json:"name"`
}

// ToolCall is one call in an Entry. Arguments is the string that the model
// sent, byte for byte.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string
}

// AppendJSON appends the entry as one JSON object: from and value always, the
// other keys where they apply. Its strings are those of AppendString.
func (e Entry) AppendJSON(dst []byte) []byte {
	dst = appendMember(dst, '{', "from", e.From)
	dst = appendMember(dst, ',', "value", e.Value)
	if e.Reasoning != "" {
		dst = appendMember(dst, ',', "reasoning", e.Reasoning)
	}
	if len(e.ToolCalls) > 0 {
		dst = append(dst, `,"tool_calls":`...)
		for i, c := range e.ToolCalls {
			dst = append(dst, "[,"[min(i, 1)])
			dst = c.AppendJSON(dst)
		}
		dst = append(dst, ']')
	}
	if e.ToolCallID != "" {
		dst = appendMember(dst, ',', "tool_call_id", e.ToolCallID)
	}
	if e.Name != "" {
		dst = appendMember(dst, ',', "name", e.Name)
	}
	return append(dst, '}')
}

// MarshalJSON returns what AppendJSON appends. json.Marshal escapes <, > and &
// in it once more; use AppendJSON, or an Encoder with SetEscapeHTML(false).
func (e Entry) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil), nil }

// AppendJSON appends {"id", "type": "function", "function": {"name", "arguments"}}.
func (c ToolCall) AppendJSON(dst []byte) []byte {
	dst = appendMember(dst, '{', "id", c.ID)
	dst = append(dst, `,"type":"function","function":`...)
	dst = appendMember(dst, '{', "name", c.Name)
	dst = appendMember(dst, ',', "arguments", c.Arguments)
	return append(dst, "}}"...)
}

// MarshalJSON returns what AppendJSON appends.
func (c ToolCall) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil), nil }

// UnmarshalJSON reads what MarshalJSON writes.
func (c *ToolCall) UnmarshalJSON(data []byte) error {
	var w struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*c = ToolCall{ID: w.ID, Name: w.Function.Name, Arguments: w.Function.Arguments}
	return nil
}

func appendMember(dst []byte, before byte, key, value string) []byte {
	dst = append(dst, before, '"')
	dst = append(dst, key...)
	dst = append(dst, '"', ':')
	return AppendString(dst, value)
}
