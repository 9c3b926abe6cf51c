package tools

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// replacement is what becomes of a document by one change.
type replacement struct {
	edits []edit
	way   string // how the old text was found
}

// replace plans to write new in the place of old: in its only place or, with all, in every one.
// What speaks against it comes back as a problem, with a hint where one helps.
func (d document) replace(old, new string, all bool) (r replacement, problem, hint string) {
	c, literal := d.changeOf(old, new)
	p := locate(d.text, c)
	switch {
	case len(p.spans) == 0:
		return r, "old_string was not found", notFound(d.text, c)
	case len(p.spans) > 1 && p.vague:
		return r, fmt.Sprintf("old_string was not found, and %d parts are much like it (%s)", len(p.spans), lineNumbers(d.text, p.spans)),
			"Copy one of them exactly, with more of the lines around it."
	case len(p.spans) > 1 && !all:
		return r, fmt.Sprintf("old_string occurs %d times (%s)", len(p.spans), lineNumbers(d.text, p.spans)),
			"Give more of the lines around the one that is meant, or set replace_all to change them all."
	}
	p.spans = disjoint(p.spans)
	r.edits, problem = p.edits(d.text, literal)
	r.way = p.way
	return r, problem, ""
}

// edits writes the new text in all places.
func (p place) edits(text string, literal bool) ([]edit, string) {
	var edits []edit
	for _, s := range p.spans {
		matched := text[s.start:s.end]
		with := carry(p.as, matched)
		if stray := strayEscape(p.as, matched, with); stray != "" {
			return nil, fmt.Sprintf("the old and the new text hold %s, but the file has no backslash there; write both as the file is", stray)
		}
		e := edit{s.start, s.end, with, literal}
		if !literal {
			e = between(text, s.start, s.end, with)
		}
		edits = append(edits, e)
	}
	return edits, ""
}

// carry makes a change in the text that was taken for its old one. Lines that the change keeps
// stay as the text has them; new ones are indented as the text is.
func carry(c change, matched string) string {
	if c.old == matched {
		return c.new
	}
	// With a line end after everything each piece is a whole line. The last line of a file may
	// lack it where the model wrote one.
	lacks := strings.HasSuffix(c.old, "\n") && !strings.HasSuffix(matched, "\n")
	if lacks {
		matched += "\n"
	}
	old, new := c.old+"\n", c.new+"\n"
	wrote, has := strings.SplitAfter(old, "\n"), strings.SplitAfter(matched+"\n", "\n")
	if len(wrote) != len(has) {
		return c.new
	}
	in := learnIndentation(wrote, has, strings.SplitAfter(new, "\n"))
	var b strings.Builder
	line := 0
	for _, e := range udiff.Lines(old, new) {
		from := strings.Count(old[:e.Start], "\n")
		b.WriteString(strings.Join(has[line:from], ""))
		for l := range strings.Lines(e.New) {
			b.WriteString(in.line(l, from, b.Len() == 0))
		}
		line = from + strings.Count(old[e.Start:e.End], "\n")
	}
	b.WriteString(strings.Join(has[line:], ""))
	with := strings.TrimSuffix(b.String(), "\n")
	if lacks {
		with = strings.TrimSuffix(with, "\n")
	}
	return with
}

// strayEscape finds a backslash that would come into the file only because the model wrote its
// arguments with one escape too many.
func strayEscape(c change, matched, with string) string {
	if c.old == matched {
		return ""
	}
	for _, escape := range []string{`\"`, `\'`, `\n`, `\t`, `\\`} {
		if strings.Contains(c.old, escape) && strings.Contains(with, escape) && !strings.Contains(matched, escape) {
			return escape
		}
	}
	return ""
}

// lineNumbers names the lines where parts of a text begin.
func lineNumbers(text string, spans []span) string {
	const most = 10
	l := newLined(text)
	var list []string
	for _, s := range spans[:min(most, len(spans))] {
		list = append(list, fmt.Sprint(l.number(s.start)))
	}
	if len(spans) > most {
		list = append(list, "…")
	}
	return "lines " + strings.Join(list, ", ")
}

// notFound helps a model to find what it looked for.
func notFound(text string, c change) string {
	l := newLined(text)
	switch {
	case looksNumbered(c.old):
		return "The lines looked for begin with the numbers that read_file shows; leave them out."
	case strings.TrimSpace(c.new) != "" && strings.Contains(text, c.new):
		return fmt.Sprintf("The new text is in the file already, at line %d.", l.number(strings.Index(text, c.new)))
	}
	i, ok := nearestLine(l, c.old)
	if !ok {
		return "Nothing in the file is like it; read the file and copy the text from it."
	}
	const most, longest = 8, 200
	lines := min(most, len(l.starts)-i, 1+strings.Count(strings.TrimSpace(c.old), "\n"))
	hint := "The nearest text, as read_file shows it:"
	for k := range lines {
		hint += fmt.Sprintf("\n%d|%s", i+k+1, preview(strings.ToValidUTF8(l.line(i+k), "\uFFFD"), longest))
	}
	return hint
}
