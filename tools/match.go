package tools

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// change is what a model wants to be written in the place of something else.
type change struct {
	old, new string
	whole    bool // old is made of whole lines
}

// span is a part of a text.
type span struct{ start, end int }

// place is where the old text of a change was found, and how.
type place struct {
	way   string // one of ways
	spans []span // in order, perhaps with overlap; each has as many lines as as.old
	as    change // what was looked for, which may be less or other than the model wrote
	vague bool   // found by likeness: good for one place, not for all places
}

// ways are how an old text is looked for. The first that finds something decides, so that a text
// which is there exactly is never taken for a similar one.
var ways = []struct {
	name string
	find func(l *lined, c change) ([]span, change)
}{
	{"exact", exactly},
	{"line-trimmed", byLines(foldEnds)},
	{"whitespace-normalised", byLines(foldRuns)},
	{"indentation-flexible", byLines(foldIndent)},
	{"escape-normalised", byUnescaping},
	{"trimmed-boundary", byTrimming},
	{"unicode-normalised", byLines(foldSigns)},
	{"block-anchor", byAnchors},
	{"context-aware", byContext},
}

// locate looks for the old text of a change.
func locate(text string, c change) place {
	if strings.TrimSpace(c.old) == "" {
		spans, _ := exactly(newLined(text), c)
		return place{way: ways[0].name, spans: spans, as: c}
	}
	l := newLined(text)
	for _, w := range ways {
		if spans, as := w.find(l, c); len(spans) > 0 {
			return place{w.name, spans, as, w.name == "block-anchor" || w.name == "context-aware"}
		}
	}
	return place{}
}

// disjoint drops spans that overlap the one before.
func disjoint(spans []span) []span {
	var kept []span
	end := 0
	for _, s := range spans {
		if s.start >= end {
			kept = append(kept, s)
			end = s.end
		}
	}
	return kept
}

// lined is a text with the beginnings of its lines.
type lined struct {
	text   string
	starts []int
	folded map[folding][]string
}

func newLined(text string) *lined {
	l := &lined{text: text, folded: make(map[folding][]string)}
	at := 0
	for line := range strings.Lines(text) {
		l.starts = append(l.starts, at)
		at += len(line)
	}
	return l
}

// next is where the line after line i begins.
func (l *lined) next(i int) int {
	if i+1 < len(l.starts) {
		return l.starts[i+1]
	}
	return len(l.text)
}

// line returns a line without its end.
func (l *lined) line(i int) string {
	return strings.TrimSuffix(l.text[l.starts[i]:l.next(i)], "\n")
}

// number returns the number, from 1 on, of the line at a place.
func (l *lined) number(at int) int { return 1 + strings.Count(l.text[:at], "\n") }

// fold returns all lines without what does not count.
func (l *lined) fold(f folding) []string {
	lines, ok := l.folded[f]
	if !ok {
		lines = make([]string, len(l.starts))
		for i := range lines {
			lines[i] = f.line(l.line(i))
		}
		l.folded[f] = lines
	}
	return lines
}

// exactly finds a text as it stands.
func exactly(l *lined, c change) ([]span, change) {
	var spans []span
	for from := 0; c.old != ""; {
		i := strings.Index(l.text[from:], c.old)
		if i < 0 {
			break
		}
		s := span{from + i, from + i + len(c.old)}
		from = s.start + 1
		if !c.whole || atLineStart(l.text, s.start) && atLineStart(l.text, s.end) {
			spans = append(spans, s)
		}
	}
	// The last line of a file is a whole line without a line end as well.
	if last := len(l.text) - len(c.old) + 1; c.whole && last >= 0 && !strings.HasSuffix(l.text, "\n") &&
		l.text[last:]+"\n" == c.old && atLineStart(l.text, last) {
		spans = append(spans, span{last, len(l.text)})
	}
	return spans, c
}

func atLineStart(text string, at int) bool {
	return at == 0 || at == len(text) || text[at-1] == '\n'
}

// byLines finds a text line by line, without regard to what a folding leaves out. The first and
// the last line may be a part of a line of the text.
func byLines(f folding) func(*lined, change) ([]span, change) {
	return func(l *lined, c change) ([]span, change) {
		p := newPattern(f, c)
		lines := l.fold(f)
		var spans []span
		for i := 0; i+len(p.lines) <= len(lines); i++ {
			for _, s := range p.at(l, lines, i) {
				if !cutsWord(l.text, s) {
					spans = append(spans, s)
				}
			}
		}
		return spans, c
	}
}

// pattern is an old text made ready for a search by lines.
type pattern struct {
	folding
	lines       []string // folded
	left, right bool     // the first may begin, the last may end within a line
	closed      bool     // with the end of the last line
}

func newPattern(f folding, c change) pattern {
	old, closed := strings.CutSuffix(c.old, "\n")
	p := pattern{folding: f, closed: closed, right: !closed && !c.whole, left: !c.whole}
	for line := range strings.SplitSeq(old, "\n") {
		p.lines = append(p.lines, f.line(line))
	}
	if r, _ := utf8.DecodeRuneInString(c.old); f.indent && f.blank(r) {
		p.left = false
	}
	if r, _ := utf8.DecodeLastRuneInString(c.old); f.blank(r) {
		p.right = false
	}
	return p
}

// at finds the pattern with its first line in line i; several times only if it has but one.
func (p pattern) at(l *lined, lines []string, i int) []span {
	last := len(p.lines) - 1
	if last == 0 {
		return p.within(l, lines[i], i)
	}
	first := lines[i]
	if first != p.lines[0] && !(p.left && strings.HasSuffix(first, p.lines[0])) {
		return nil
	}
	for k := 1; k < last; k++ {
		if lines[i+k] != p.lines[k] {
			return nil
		}
	}
	end := lines[i+last]
	if end != p.lines[last] && !(p.right && strings.HasPrefix(end, p.lines[last])) {
		return nil
	}
	s, ok := p.span(l, i, len(first)-len(p.lines[0]), i+last, len(p.lines[last]) == len(end), len(p.lines[last]))
	if !ok {
		return nil
	}
	return []span{s}
}

// within finds a pattern of one line in a line.
func (p pattern) within(l *lined, line string, i int) []span {
	var spans []span
	want := p.lines[0]
	for from := 0; from+len(want) <= len(line) && want != ""; {
		at := strings.Index(line[from:], want)
		if at < 0 {
			break
		}
		start := from + at
		end := start + len(want)
		from = start + 1
		if start > 0 && !p.left || end < len(line) && !p.right {
			continue
		}
		if s, ok := p.span(l, i, start, i, end == len(line), end); ok {
			spans = append(spans, s)
		}
	}
	return spans
}

// span brings places in folded lines back to the text. Blanks at the beginning or the end of a line
// belong to a match that goes so far.
func (p pattern) span(l *lined, first, start, last int, toEnd bool, end int) (span, bool) {
	s := span{l.starts[first], l.starts[last] + len(l.line(last))}
	startOK, endOK := true, true
	if start > 0 {
		line := l.line(first)
		var at int
		if at, startOK = p.place(line, start); strings.TrimLeft(line[:at], " \t") != "" || p.lines[0] == "" {
			s.start += at
		}
	}
	if !toEnd {
		var at int
		at, endOK = p.place(l.line(last), end)
		s.end = l.starts[last] + at
	}
	if p.closed {
		s.end = l.next(last)
	}
	return s, startOK && endOK && s.start < s.end
}

// cutsWord says that a part of a text begins or ends in the middle of a word.
func cutsWord(text string, s span) bool {
	cuts := func(at int) bool {
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at:])
		return inWord(before) && inWord(after)
	}
	return cuts(s.start) || cuts(s.end)
}

func inWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// byUnescaping takes a text for one that was escaped once too often: all of it, or its quotes
// alone.
func byUnescaping(l *lined, c change) ([]span, change) {
	for _, unescape := range []*strings.Replacer{
		strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\"`, `"`, `\'`, `'`),
		strings.NewReplacer(`\"`, `"`, `\'`, `'`),
	} {
		as := change{unescape.Replace(c.old), unescape.Replace(c.new), c.whole}
		if as.old == c.old || strings.TrimSpace(as.old) == "" {
			continue
		}
		if spans, _ := exactly(l, as); len(spans) > 0 {
			return spans, as
		}
	}
	return nil, c
}

// byTrimming leaves out blank lines around a text; around a part of one line, blanks.
func byTrimming(l *lined, c change) ([]span, change) {
	as := trimBoundary(c)
	if as.old == c.old {
		return nil, c
	}
	spans, _ := byLines(foldIndent)(l, as)
	return spans, as
}

// trimBoundary drops blank lines at the beginning and the end of the old text, and as many of the
// new one.
func trimBoundary(c change) change {
	as := c
	for {
		line, rest, ok := strings.Cut(as.old, "\n")
		if !ok || strings.TrimSpace(line) != "" {
			break
		}
		as.old = rest
		if line, rest, ok := strings.Cut(as.new, "\n"); ok && strings.TrimSpace(line) == "" {
			as.new = rest
		}
	}
	closed := strings.HasSuffix(as.old, "\n")
	for closed {
		rest := strings.TrimSuffix(as.old, "\n")
		i := strings.LastIndexByte(rest, '\n')
		if i < 0 || strings.TrimSpace(rest[i:]) != "" {
			break
		}
		as.old = rest[:i+1]
		as.new = dropLastBlankLine(as.new)
	}
	if closed && as.new != "" && !strings.HasSuffix(as.new, "\n") {
		as.new += "\n"
	}
	if !strings.Contains(as.old, "\n") {
		as.old, as.new = strings.Trim(as.old, " \t"), strings.Trim(as.new, " \t")
	}
	return as
}

func dropLastBlankLine(s string) string {
	rest := strings.TrimSuffix(s, "\n")
	if i := strings.LastIndexByte(rest, '\n'); i >= 0 && strings.TrimSpace(rest[i:]) == "" {
		return rest[:i+1]
	}
	return s
}
