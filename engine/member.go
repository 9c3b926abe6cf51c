package engine

import (
	"bytes"
	"encoding/json"
	"unicode/utf16"
)

// member is one key of a JSON object with its value's raw bytes.
type member struct {
	name  string
	key   []byte // raw, with quotes
	value []byte // raw
}

// objectMembers splits a valid JSON text at its top level without touching
// the values' bytes. It reports false for what is no object. Of a repeated key
// the last one counts.
func objectMembers(text []byte) ([]member, bool) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, false
	}
	var members []member
	at := map[string]int{}
	for dec.More() {
		start := dec.InputOffset()
		tok, err := dec.Token()
		if err != nil {
			return nil, false
		}
		name := tok.(string)
		key := bytes.TrimLeft(text[start:dec.InputOffset()], " \t\r\n,")
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, false
		}
		m := member{name, key, value}
		if i, twice := at[name]; twice {
			members[i] = m
			continue
		}
		at[name] = len(members)
		members = append(members, m)
	}
	return members, true
}

// joinMembers is the inverse: a JSON object with the members' own bytes.
func joinMembers(members []member) []byte {
	if len(members) == 0 {
		return []byte("{}")
	}
	out := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			out = append(out, ',', ' ')
		}
		out = append(append(append(out, m.key...), ':', ' '), m.value...)
	}
	return append(out, '}')
}

// replaceLoneSurrogates replaces each \uD800–\uDFFF escape that is not half of
// a pair by \ufffd, so that the text has one meaning for every reader. Texts
// without such an escape come back as they are.
func replaceLoneSurrogates(text []byte) []byte {
	if !bytes.Contains(text, []byte(`\ud`)) && !bytes.Contains(text, []byte(`\uD`)) {
		return text
	}
	out := bytes.Clone(text)
	for i := 0; i < len(out); i++ {
		if out[i] != '\\' {
			continue
		}
		first := escape(out[i:])
		switch {
		case !utf16.IsSurrogate(first):
			i++ // also skips an escaped backslash
		case utf16.DecodeRune(first, escape(out[min(i+6, len(out)):])) != '\uFFFD':
			i += 11
		default:
			copy(out[i:], `\ufffd`)
			i += 5
		}
	}
	return out
}

// escape reads a \uXXXX escape at the start of b; 0 if there is none.
func escape(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0
	}
	var r rune
	for _, c := range b[2:6] {
		r <<= 4
		switch {
		case c >= '0' && c <= '9':
			r |= rune(c - '0')
		case c >= 'a' && c <= 'f':
			r |= rune(c - 'a' + 10)
		case c >= 'A' && c <= 'F':
			r |= rune(c - 'A' + 10)
		default:
			return 0
		}
	}
	return r
}
