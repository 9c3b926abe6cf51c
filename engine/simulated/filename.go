package simulated

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	longestName      = 255 // bytes of a path before its last dot
	longestExtension = 6   // bytes
)

// span is where a file name stands in a text.
type span struct{ begin, end int }

// fileNames finds what looks like a file: a path whose last part has an
// extension that begins with a letter. It works from the dots outwards, since
// there are few of them.
func fileNames(text string) (found []span) {
	floor := 0 // end of the name before
	for at := 0; at < len(text); {
		dot := strings.IndexByte(text[at:], '.')
		if dot < 0 {
			break
		}
		dot += at
		begin, end := nameBegin(text, floor, dot), extensionEnd(text, dot+1)
		at = dot + 1
		if begin == dot || end == dot+1 || abbreviations[strings.ToLower(text[begin:end])] {
			continue
		}
		if end < len(text) && text[end] == '.' && extensionEnd(text, end+1) > end+1 {
			continue // the dot of "a.tar" in "a.tar.gz"
		}
		found = append(found, span{begin, end})
		at, floor = end, end
	}
	return found
}

var abbreviations = map[string]bool{"e.g": true, "i.e": true, "a.m": true, "p.m": true}

// nameBegin returns where the path begins that ends at the dot, or the dot if
// no name stands before it.
func nameBegin(text string, floor, dot int) int {
	begin := dot
	for begin > floor && dot-begin < longestName {
		r, size := utf8.DecodeLastRuneInString(text[:begin])
		if !inName(r) || begin == dot && (r == '.' || r == '/' || r == '-') {
			break
		}
		begin -= size
	}
	for begin < dot && text[begin] == '-' {
		begin++ // would be an option to every command
	}
	return begin
}

// extensionEnd returns where the extension that begins at i ends, or i if
// there is none or the name goes on after it.
func extensionEnd(text string, i int) int {
	end := i
	for end < len(text) && (isLetter(text[end]) || end > i && isDigit(text[end])) {
		end++
	}
	next, _ := utf8.DecodeRuneInString(text[end:])
	if end-i > longestExtension || next != '.' && inName(next) {
		return i
	}
	return end
}

// isFileName reports whether a whole text is a file name.
func isFileName(text string) bool {
	if len(text) > longestName || !strings.Contains(text, ".") {
		return false
	}
	found := fileNames(text)
	return len(found) == 1 && found[0] == span{0, len(text)}
}

func inName(r rune) bool {
	return r == '_' || r == '.' || r == '/' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
