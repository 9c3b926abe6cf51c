package db

import (
	"fmt"
	"unicode/utf8"
)

// AppendString appends s as a JSON string, as rows have it. It escapes what JSON
// demands and the two line separators that some readers split lines at, nothing
// else, so that text stays readable. Bytes that are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(s); {
		if plain[s[i]] {
			i++
			continue
		}
		size, escape := escapeAt(s[i:])
		if escape != "" {
			dst = append(dst, s[done:i]...)
			dst = append(dst, escape...)
			done = i + size
		}
		i += size
	}
	dst = append(dst, s[done:]...)
	return append(dst, '"')
}

// plain marks the bytes that stand for themselves in a JSON string.
var plain = func() (t [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// escapeAt returns the size of the character that s begins with and what has
// to stand for it, "" if it stands for itself.
func escapeAt(s string) (size int, escape string) {
	if s[0] < utf8.RuneSelf {
		return 1, asciiEscapes[s[0]]
	}
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && size == 1:
		escape = "\uFFFD"
	case r == '\u2028':
		escape = `\u2028`
	case r == '\u2029':
		escape = `\u2029`
	}
	return size, escape
}

var asciiEscapes = func() (t [utf8.RuneSelf]string) {
	for c := range ' ' {
		t[c] = fmt.Sprintf(`\u%04x`, c)
	}
	for c, escape := range map[byte]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`} {
		t[c] = escape
	}
	return t
}()
