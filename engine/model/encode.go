package model

import "unicode/utf8"

// appendMessage encodes a message. Content is always there and always a string:
// servers refuse a message without it, some of them null as well.
func appendMessage(b []byte, m Message, echo string) []byte {
	b = appendString(append(b, `{"role":`...), m.Role)
	b = appendString(append(b, `,"content":`...), m.Content)
	if echo != "" && m.Reasoning != "" {
		b = append(appendString(append(b, ','), echo), ':')
		b = appendString(b, m.Reasoning)
	}
	if len(m.ToolCalls) > 0 {
		b = append(b, `,"tool_calls":`...)
		for i, call := range m.ToolCalls {
			b = appendCall(append(b, "[,"[min(i, 1)]), call)
		}
		b = append(b, ']')
	}
	if m.ToolCallID != "" {
		b = appendString(append(b, `,"tool_call_id":`...), m.ToolCallID)
	}
	if m.Role == "tool" && legalName(m.Name) {
		b = appendString(append(b, `,"name":`...), m.Name)
	}
	return append(b, '}')
}

// unnamed stands for an empty tool name in a request: a call without a name
// would have the whole conversation refused.
const unnamed = "unnamed"

func appendCall(b []byte, call Call) []byte {
	name, arguments := call.Name, call.Arguments
	if name == "" {
		name = unnamed
	}
	if arguments == "" {
		arguments = "{}"
	}
	b = appendString(append(b, `{"id":`...), call.ID)
	b = appendString(append(b, `,"type":"function","function":{"name":`...), name)
	b = appendString(append(b, `,"arguments":`...), arguments)
	return append(b, "}}"...)
}

const hexDigits = "0123456789abcdef"

// appendString encodes a string as JSON and escapes only what must be: with
// encoding/json's HTML escapes models see \u003c in tool results and try to
// mend it.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(append(b, s[done:i]...), "\ufffd"...)
				done = i + 1
			}
			i += n
			continue
		case c == '"' || c == '\\':
			b = append(append(b, s[done:i]...), '\\', c)
			done = i + 1
		case c < ' ':
			b = appendControl(append(b, s[done:i]...), c)
			done = i + 1
		}
		i++
	}
	return append(append(b, s[done:]...), '"')
}

func appendControl(b []byte, c byte) []byte {
	switch c {
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
