package tools

import (
	"slices"
	"sort"
	"strings"
)

// document is a text file, as it is and as a model sees it: without a byte order mark, and with
// lines that end with LF alone.
type document struct {
	raw  string
	text string
	mark int   // bytes of the byte order mark
	crs  []int // the line ends of text that are CR LF in raw
}

func newDocument(raw string) document {
	body := strings.TrimPrefix(raw, string(byteOrderMark))
	d := document{raw: raw, text: body, mark: len(raw) - len(body)}
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(body, "\r\n")
		if !ok {
			break
		}
		b.WriteString(before)
		d.crs = append(d.crs, b.Len())
		b.WriteByte('\n')
		body = after
	}
	if len(d.crs) > 0 {
		d.text = b.String() + body
	}
	return d
}

// edit replaces a part of a document's text.
type edit struct {
	start, end int
	text       string
	literal    bool // its line ends are as they should be in the file
}

// apply returns the document with edits that are sorted and do not overlap. All bytes outside of
// them stay as they are; new lines end as the lines do where they go.
func (d document) apply(edits []edit) document {
	var b strings.Builder
	last := 0
	for _, e := range edits {
		text := e.text
		if !e.literal && d.endsWithCR(e.start) {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		b.WriteString(d.raw[last:d.place(e.start)])
		b.WriteString(text)
		last = d.place(e.end)
	}
	b.WriteString(d.raw[last:])
	return newDocument(b.String())
}

// place finds a place of text in raw; that of a line end is before its CR.
func (d document) place(at int) int { return d.mark + at + sort.SearchInts(d.crs, at) }

// endsWithCR says whether the line at a place ends with CR LF; at the end of a file without a
// last line end, the line before it.
func (d document) endsWithCR(at int) bool {
	if len(d.crs) == 0 {
		return false
	}
	end := strings.IndexByte(d.text[at:], '\n') + at
	if end < at {
		end = strings.LastIndexByte(d.text[:at], '\n')
	}
	_, found := slices.BinarySearch(d.crs, end)
	return found
}

// changeOf makes a change for this document from what a model wrote. literal says that the model
// cares for line ends, since it writes some that the file does not have.
func (d document) changeOf(old, new string) (c change, literal bool) {
	const crlf = "\r\n"
	oldHas, newHas := strings.Contains(old, crlf), strings.Contains(new, crlf)
	if len(d.crs) > 0 {
		literal = oldHas && !newHas && strings.Contains(new, "\n")
	} else {
		literal = newHas && !oldHas
	}
	c.old = strings.ReplaceAll(old, crlf, "\n")
	c.new = new
	if !literal {
		c.new = strings.ReplaceAll(new, crlf, "\n")
	}
	return c, literal
}

// between shortens a replacement of text[start:end] to what really differs, so that lines which
// stay keep their own line ends.
func between(text string, start, end int, with string) edit {
	for start < end && with != "" && text[start] == with[0] {
		start, with = start+1, with[1:]
	}
	for start < end && with != "" && text[end-1] == with[len(with)-1] {
		end, with = end-1, with[:len(with)-1]
	}
	return edit{start: start, end: end, text: with}
}
