package tools

import (
	"fmt"
	"strings"
)

// applyHunks makes the hunks of one file in their order. Each is looked for below the one before
// it, and only then in the whole file.
func (d document) applyHunks(hunks []hunk) (document, string, string) {
	from := 0
	for i, h := range hunks {
		edits, problem, hint := h.locate(d, from)
		if problem != "" {
			return d, fmt.Sprintf("hunk %d (line %d of the patch): %s", i+1, h.line, problem), hint
		}
		before := len(d.text)
		d = d.apply(edits)
		for _, e := range edits {
			from = lineFrom(d.text, e.end+len(d.text)-before)
		}
	}
	return d, "", ""
}

// lineFrom is where the first line begins that lies after a place.
func lineFrom(text string, at int) int {
	if atLineStart(text, at) {
		return at
	}
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// change of a hunk is one of whole lines.
func (h hunk) change() change {
	c := change{whole: true}
	if len(h.old) > 0 {
		c.old = strings.Join(h.old, "\n") + "\n"
	}
	if len(h.new) > 0 {
		c.new = strings.Join(h.new, "\n") + "\n"
	}
	return c
}

// locate finds the place of a hunk and plans its edit.
func (h hunk) locate(d document, from int) (edits []edit, problem, hint string) {
	text := d.text
	begin, below, ok := h.below(text, from)
	if !ok && from > 0 {
		begin, below, ok = h.below(text, 0)
	}
	c := h.change()
	if c.old == "" {
		return h.insert(d, below, ok)
	}
	p := shifted(locate(text[begin:], c), begin)
	if len(p.spans) == 0 && begin > 0 {
		p = locate(text, c)
	}
	if h.atEnd {
		p.spans = atEnd(text, p.spans)
	}
	switch {
	case len(p.spans) == 0:
		return nil, "its lines were not found" + h.hintsMissing(ok), notFound(text, c)
	case len(p.spans) > 1 && p.vague:
		return nil, fmt.Sprintf("its lines were not found, and %d parts are much like them (%s)", len(p.spans), lineNumbers(text, p.spans)),
			"Copy the lines that stay exactly from the file."
	case len(p.spans) > 1 && !(ok && len(h.hints) > 0):
		return nil, fmt.Sprintf("its lines occur %d times (%s)", len(p.spans), lineNumbers(text, p.spans)) + h.hintsMissing(ok),
			"Give more of the lines around it, or @@ with a line above it."
	}
	p.spans = p.spans[:1]
	edits, problem = p.edits(text, false)
	return edits, problem, ""
}

// below follows the hints from a place on: begin is where the line of the last hint begins, end
// where it ends.
func (h hunk) below(text string, from int) (begin, end int, ok bool) {
	begin, end = from, from
	for _, hint := range h.hints {
		at, length := findLine(text[end:], hint)
		if at < 0 {
			return from, from, false
		}
		begin = end + at
		end = begin + length
	}
	return begin, end, true
}

// findLine finds the line that is meant by a hint: the same but for blanks around it, else one
// that begins with it, else one that holds it.
func findLine(text, hint string) (at, length int) {
	for _, fits := range []func(line string) bool{
		func(line string) bool { return line == hint },
		func(line string) bool { return strings.HasPrefix(line, hint) },
		func(line string) bool { return strings.Contains(line, hint) },
	} {
		at := 0
		for line := range strings.Lines(text) {
			if fits(strings.TrimSpace(line)) {
				return at, len(line)
			}
			at += len(line)
		}
	}
	return -1, 0
}

// insert plans a hunk that has nothing but new lines: below its last hint, or at the end.
func (h hunk) insert(d document, at int, ok bool) ([]edit, string, string) {
	switch {
	case !ok:
		return nil, "it only adds lines, and its place was not found" + h.hintsMissing(ok), "Give some of the lines around it."
	case len(h.hints) == 0:
		at = len(d.text)
	}
	with := h.change().new
	if at > 0 && d.text[at-1] != '\n' { // the last line of a file without a last line end
		with = "\n" + strings.TrimSuffix(with, "\n")
	}
	return []edit{{start: at, end: at, text: with}}, "", ""
}

func (h hunk) hintsMissing(ok bool) string {
	if ok {
		return ""
	}
	return fmt.Sprintf(", and neither was @@ %s", strings.Join(h.hints, " @@ "))
}

// shifted moves what was found in a part of a text.
func shifted(p place, by int) place {
	for i := range p.spans {
		p.spans[i].start += by
		p.spans[i].end += by
	}
	return p
}

// atEnd keeps the places with nothing but blanks below them.
func atEnd(text string, spans []span) []span {
	var kept []span
	for _, s := range spans {
		if strings.TrimSpace(text[s.end:]) == "" {
			kept = append(kept, s)
		}
	}
	return kept
}
