package tools

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// required are texts one of which every line with a match holds; none if nothing is known. Looking
// for them is many times faster than matching the expression line by line.
type required []sought

// sought is a text to look for.
type sought struct {
	text []byte
	fold bool // in either case; text is in lower case then
}

// maxRequired bounds the texts that are looked for one after the other.
const maxRequired = 16

// requiredLiterals finds the longest texts that an expression cannot do without.
func requiredLiterals(re *syntax.Regexp) required {
	switch re.Op {
	case syntax.OpLiteral:
		if slices.Contains(re.Rune, utf8.RuneError) { // matches bytes that are no character as well
			return nil
		}
		l := sought{text: []byte(string(re.Rune))}
		if re.Flags&syntax.FoldCase != 0 {
			l = sought{text: foldedPiece(re.Rune), fold: true}
		}
		if len(l.text) > 0 {
			return required{l}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return requiredLiterals(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return requiredLiterals(re.Sub[0])
		}
	case syntax.OpConcat:
		var best required
		for _, sub := range re.Sub {
			r := requiredLiterals(sub)
			if n := r.shortest() - best.shortest(); n > 0 || n == 0 && len(r) < len(best) {
				best = r
			}
		}
		return best
	case syntax.OpAlternate:
		var all required
		for _, sub := range re.Sub {
			r := requiredLiterals(sub)
			if len(r) == 0 || len(all)+len(r) > maxRequired {
				return nil
			}
			all = append(all, r...)
		}
		return all
	}
	return nil
}

// shortest is the length of the shortest text.
func (r required) shortest() int {
	n := 0
	for i, l := range r {
		if i == 0 || len(l.text) < n {
			n = len(l.text)
		}
	}
	return n
}

// foldedPiece is the longest part of a text, in lower case, whose other cases are ASCII as well:
// k and s have relatives beyond.
func foldedPiece(runes []rune) []byte {
	var best, piece []byte
	for _, r := range runes {
		r = rune(lowerASCII(byte(min(r, utf8.RuneSelf))))
		if r >= utf8.RuneSelf || r == 'k' || r == 's' {
			piece = nil
			continue
		}
		piece = append(piece, byte(r))
		if len(piece) > len(best) {
			best = piece
		}
	}
	return best
}

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// index finds the first place at which a match is possible, -1 if there is none. It looks at
// larger and larger parts of b, so that a text that is rare does not cost a look at all of b each
// time that another one is found near its beginning.
func (r required) index(b []byte) int {
	if len(r) == 0 {
		return 0
	}
	const first, growth = 512, 4 // bytes
	for from, size := 0, first; from < len(b); from, size = from+size, size*growth {
		best := -1
		for _, l := range r {
			part := b[from:min(len(b), from+size+len(l.text)-1)]
			if i := l.index(part); i >= 0 && (best < 0 || i < best) {
				best = i
			}
		}
		if best >= 0 {
			return from + best
		}
	}
	return -1
}

func (l sought) index(b []byte) int {
	if !l.fold {
		return bytes.Index(b, l.text)
	}
	lower, upper := l.text[0], bytes.ToUpper(l.text[:1])[0]
	next := func(c byte, from int) int {
		if i := bytes.IndexByte(b[from:], c); i >= 0 {
			return from + i
		}
		return len(b)
	}
	for i, j := next(lower, 0), next(upper, 0); min(i, j)+len(l.text) <= len(b); {
		at := min(i, j)
		if l.begins(b[at:]) {
			return at
		}
		if i == at {
			i = next(lower, at+1)
		}
		if j == at {
			j = next(upper, at+1)
		}
	}
	return -1
}

// begins says whether b begins with the text in either case.
func (l sought) begins(b []byte) bool {
	for i, c := range l.text {
		if lowerASCII(b[i]) != c {
			return false
		}
	}
	return true
}
