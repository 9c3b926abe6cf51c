package tools

import (
	"bytes"
	"regexp/syntax"
	"unicode/utf8"
)

// required is a text that every line with a match holds. Looking for it first is many times faster
// than the expression itself where that does not begin with it, as in \bname or (?i)name.
type required struct {
	text  []byte
	fold  bool   // in either case; text is in lower case then
	lower []byte // scratch
}

// requiredLiteral finds the longest text that an expression cannot do without.
func requiredLiteral(re *syntax.Regexp) required {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return required{text: foldedPiece(re.Rune), fold: true}
		}
		return required{text: []byte(string(re.Rune))}
	case syntax.OpCapture, syntax.OpPlus:
		return requiredLiteral(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return requiredLiteral(re.Sub[0])
		}
	case syntax.OpConcat:
		var best required
		for _, sub := range re.Sub {
			if l := requiredLiteral(sub); len(l.text) > len(best.text) {
				best = l
			}
		}
		return best
	}
	return required{}
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

// in says whether a line may have a match.
func (l *required) in(line []byte) bool {
	if !l.fold {
		return bytes.Contains(line, l.text)
	}
	l.lower = l.lower[:0]
	for _, c := range line {
		l.lower = append(l.lower, lowerASCII(c))
	}
	return bytes.Contains(l.lower, l.text)
}
