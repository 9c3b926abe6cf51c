package tools

import (
	"net/http"
	"strings"
	"unicode/utf8"
)

// kind is what a file holds, told from its beginning, whatever its name says.
type kind int

const (
	kindText kind = iota
	kindImage
	kindBinary
)

const (
	sampleSize = 1_000 // bytes looked at
	oddPercent = 30    // share of characters out of place that makes a file binary
)

// kindOf judges a sample; whole says that nothing follows it. A signature alone does not make a
// picture of a text: plain words may begin with BM or ID3 as well.
func kindOf(sample []byte, whole bool) kind {
	if !whole {
		sample = withoutPartialRune(sample)
	}
	signature := http.DetectContentType(sample)
	plain := strings.HasPrefix(signature, "text/") || signature == "application/octet-stream"
	enough := 1
	if plain {
		enough = len(sample)*oddPercent/100 + 1
	}
	odd, all := countOdd(sample, enough)
	switch {
	case signature == "application/pdf":
		return kindBinary
	case odd == 0:
		return kindText
	case strings.HasPrefix(signature, "image/"):
		return kindImage
	case !plain || odd*100 > all*oddPercent:
		return kindBinary
	}
	return kindText
}

// countOdd counts the characters out of place in a text, and all of them, until there are enough
// odd ones.
func countOdd(text []byte, enough int) (odd, all int) {
	for i := 0; i < len(text) && odd < enough; all++ {
		if c := text[i]; c < utf8.RuneSelf {
			if c < ' ' && (c < '\a' || '\r' < c) && c != 0x1b || c == 0x7f {
				odd++
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError {
			odd++
		}
		i += size
	}
	return odd, all
}

// withoutPartialRune drops a character that the end of the sample cuts in two.
func withoutPartialRune(b []byte) []byte {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}
