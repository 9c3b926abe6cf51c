package export

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// appendString appends s as a JSON string. It escapes what JSON demands and the
// two line separators that some readers split lines at, nothing else, so that
// text stays readable. Bytes that are not UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
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

// appendFloat appends f in its shortest form with a decimal point and without
// an exponent, so that readers which take a column's type from its first rows
// see the same type in all of them. What JSON cannot hold becomes 0.0.
func appendFloat(dst []byte, f float64) []byte {
	f = finite(f)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if f == math.Trunc(f) {
		dst = append(dst, ".0"...)
	}
	return dst
}

// finite is f, or 0 for what is no number.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

// Decimal is a float64 that is written in its shortest form, with a decimal
// point and without an exponent.
type Decimal float64

// MarshalJSON implements json.Marshaler.
func (d Decimal) MarshalJSON() ([]byte, error) { return appendFloat(nil, float64(d)), nil }

// round2 rounds to two decimals, as rates and seconds are given.
func round2(f float64) Decimal { return Decimal(math.Round(f*100) / 100) }

// roundCost cuts off what adding floats up leaves behind the billionths.
func roundCost(f float64) Decimal { return Decimal(math.Round(f*1e9) / 1e9) }

// String is the number as it is written.
func (d Decimal) String() string { return string(appendFloat(nil, float64(d))) }
