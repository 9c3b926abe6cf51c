package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

const noArguments = "{}"

// ReplyCall is a tool call of a reply.
type ReplyCall struct {
	ID   string // unique in its conversation
	Name string // as the model wrote it
	// Arguments is a JSON object, byte for byte as the model wrote it, or what
	// could be made of something else.
	Arguments string
	// Original is what came where Arguments had to be made.
	Original string
	// Bad says why the arguments are no JSON object; Arguments is {} then, and
	// the tool must not be run.
	Bad string
}

// setArguments brings a call's arguments to the text of one JSON object.
func (call *ReplyCall) setArguments(raw json.RawMessage, clean func(string) string) (repaired bool) {
	switch kind := firstByte(raw); kind {
	case '"':
		var s string
		json.Unmarshal(raw, &s)
		return call.setString(clean(s))
	case '{':
		call.Original = clean(valid(string(raw)))
		call.Arguments = compact(call.Original)
		return true
	case 0, 'n':
		call.Original, call.Arguments = string(raw), noArguments
		return true
	default:
		call.Original = clean(valid(string(raw)))
		call.Arguments, call.Bad = noArguments, "the arguments must be a JSON object, not "+kindOf(kind)
		return true
	}
}

// setString takes arguments that came as a string, as they should.
func (call *ReplyCall) setString(s string) (repaired bool) {
	if strings.HasPrefix(strings.TrimLeft(s, " \t\r\n"), "{") && json.Valid([]byte(s)) {
		call.Arguments = fixSurrogates(s)
		return false
	}
	call.Original, call.Arguments = s, noArguments
	trimmed := strings.TrimSpace(s)
	if trimmed == "" || trimmed == "null" {
		return true
	}
	object, err := soleObject(trimmed)
	if err != nil {
		call.Bad = err.Error()
		return true
	}
	call.Arguments = fixSurrogates(object)
	return true
}

// soleObject returns the object that a text consists of, be it repeated.
func soleObject(s string) (string, error) {
	var found string
	for rest := s; rest != ""; {
		dec := json.NewDecoder(strings.NewReader(rest))
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return "", fmt.Errorf("the arguments are invalid JSON: %w", json.Unmarshal([]byte(s), &value))
		}
		if kind := firstByte(value); kind != '{' {
			return "", fmt.Errorf("the arguments must be a JSON object, not %s", kindOf(kind))
		}
		switch {
		case found == "":
			found = string(value)
		case found != string(value):
			return "", fmt.Errorf("the arguments are invalid JSON: %w", json.Unmarshal([]byte(s), &value))
		}
		rest = strings.TrimSpace(rest[dec.InputOffset():])
	}
	return found, nil
}

func kindOf(first byte) string {
	switch first {
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	case '{':
		return "an object"
	}
	return "a number"
}

// compact takes the space of a pretty-printed reply out of an object and keeps
// all else as it was written.
func compact(object string) string {
	var buf bytes.Buffer
	if json.Compact(&buf, []byte(object)) != nil {
		return noArguments
	}
	return fixSurrogates(buf.String())
}

// fixSurrogates replaces the escapes of lone surrogates within JSON text by that
// of U+FFFD: a later reader of the arguments may refuse them.
func fixSurrogates(s string) string {
	if !strings.Contains(s, `\u`) {
		return s
	}
	var b []byte
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 >= len(s) {
			i++
			continue
		}
		unit, ok := unicodeEscape(s[i:])
		if !ok {
			i += 2
			continue
		}
		if low, ok := unicodeEscape(s[i+6:]); ok && isHigh(unit) && isLow(low) {
			i += 12
			continue
		}
		if isHigh(unit) || isLow(unit) {
			if b == nil {
				b = []byte(s)
			}
			copy(b[i:], `\ufffd`)
		}
		i += 6
	}
	if b == nil {
		return s
	}
	return string(b)
}

func isHigh(unit uint16) bool { return unit&0xfc00 == 0xd800 }
func isLow(unit uint16) bool  { return unit&0xfc00 == 0xdc00 }

// unicodeEscape reads the escape with which a text begins.
func unicodeEscape(s string) (unit uint16, ok bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	for _, c := range []byte(s[2:6]) {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		unit = unit<<4 | uint16(c)
	}
	return unit, true
}
