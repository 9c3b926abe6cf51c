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
	odd, all := 0, 0
	for _, r := range string(sample) {
		all++
		if r == utf8.RuneError || r == 0x7f || r < ' ' && !strings.ContainsRune("\a\b\t\n\v\f\r\x1b", r) {
			odd++
		}
	}
	signature := http.DetectContentType(sample)
	plain := strings.HasPrefix(signature, "text/") || signature == "application/octet-stream"
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
