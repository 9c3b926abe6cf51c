package db

import (
	"encoding/json"
	"unicode/utf8"
)

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
// other keys where they apply. Strings are escaped only where JSON demands it,
// and at the two line separators that some readers split lines at; bytes that
// are no UTF-8 become U+FFFD.
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
	return appendString(dst, value)
}

const hexDigits = "0123456789abcdef"

func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		size, escape := 1, ""
		if c >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRuneInString(s[i:])
			escape = escapeRune(r, size)
			if escape == "" {
				i += size
				continue
			}
		}
		dst = append(dst, s[done:i]...)
		if escape != "" {
			dst = append(dst, escape...)
		} else {
			dst = appendEscape(dst, c)
		}
		i += size
		done = i
	}
	dst = append(dst, s[done:]...)
	return append(dst, '"')
}

// escapeRune returns what stands for a rune that cannot stand for itself.
func escapeRune(r rune, size int) string {
	switch {
	case r == utf8.RuneError && size == 1:
		return "\ufffd"
	case r == '\u2028':
		return `\u2028`
	case r == '\u2029':
		return `\u2029`
	}
	return ""
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}
