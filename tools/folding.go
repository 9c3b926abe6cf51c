package tools

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// folding says what does not count when two lines are compared.
type folding struct {
	ends   bool // blanks at the end
	runs   bool // how long a run of blanks is
	indent bool // blanks at the beginning
	signs  bool // typographic forms of quotes, dashes, dots and blanks; invisible characters
}

// The foldings that are used, each of which forgives what the one before forgives.
var (
	foldEnds   = folding{ends: true}
	foldRuns   = folding{ends: true, runs: true}
	foldIndent = folding{ends: true, runs: true, indent: true}
	foldSigns  = folding{ends: true, runs: true, indent: true, signs: true}
)

// line returns a line without what does not count.
func (f folding) line(s string) string {
	if f == foldEnds {
		return strings.TrimRight(s, " \t")
	}
	var b strings.Builder
	b.Grow(len(s))
	f.pieces(s, func(_ int, piece string) bool {
		b.WriteString(piece)
		return true
	})
	return b.String()
}

// place finds the place in a line of a place in its folded form; false if that lies within what
// is one character of the line.
func (f folding) place(s string, folded int) (at int, ok bool) {
	if folded == 0 {
		return 0, true
	}
	at = len(s)
	f.pieces(s, func(i int, piece string) bool {
		if folded <= 0 {
			at = i
			return false
		}
		folded -= len(piece)
		return true
	})
	return at, folded == 0
}

// pieces hands out a folded line piece by piece, each with its place in the line, until use says
// no.
func (f folding) pieces(s string, use func(at int, piece string) bool) {
	if f.ends {
		s = strings.TrimRightFunc(s, f.blank)
	}
	i := 0
	if f.indent {
		i = len(s) - len(strings.TrimLeftFunc(s, f.blank))
	}
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		piece := s[i : i+size]
		if f.runs && f.blank(r) {
			size = len(s) - i - len(strings.TrimLeftFunc(s[i:], f.blank))
			piece = " "
		} else if f.signs {
			piece = plainSign(r, piece)
		}
		if piece != "" && !use(i, piece) {
			return
		}
		i += size
	}
}

func (f folding) blank(r rune) bool {
	return r == ' ' || r == '\t' || f.signs && unicode.Is(unicode.Zs, r)
}

// plainSign is how a character is typed on a plain keyboard; a byte that is no UTF-8 is what a
// model is shown for it.
func plainSign(r rune, piece string) string {
	switch r {
	case '‘', '’', '‚', '‛', '′', '´', '`':
		return "'"
	case '“', '”', '„', '‟', '″', '«', '»':
		return `"`
	case '‐', '‑', '‒', '–', '—', '―', '−':
		return "-"
	case '…':
		return "..."
	case '\u00ad', '\u200b', '\u200c', '\u200d', '\u2060', '\ufeff':
		return ""
	case utf8.RuneError:
		return "\uFFFD"
	}
	return piece
}
