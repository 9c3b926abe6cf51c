package db

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "<>&", "\u2028\u2029", "数 🙂", "\xff\xc3", "\xed\xa0\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := AppendString([]byte("x"), s)[1:]
		var back string
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		// What stood for bytes that are no UTF-8 is one U+FFFD for each.
		var want strings.Builder
		for _, r := range s {
			want.WriteRune(r)
		}
		if back != want.String() || !utf8.Valid(got) {
			t.Fatalf("%q reads as %q", got, back)
		}
		if strings.ContainsAny(string(got), "\n\r\u2028\u2029") {
			t.Fatalf("%q ends a line", got)
		}
	})
}
