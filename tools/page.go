package tools

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxLine is the longest line that is shown, in characters.
const maxLine = 2_000

// page collects some lines of a text in bounded memory, and counts them all.
type page struct {
	first, last int   // lines wanted, counted from 1
	size        int64 // of the file, in bytes

	lines    int // lines seen
	content  strings.Builder
	overflow bool // the wanted lines have more than resultLimit bytes

	open bool   // in the middle of a line
	line []byte // the beginning of the present line, if it is wanted
}

func newPage(offset, limit int, size int64) *page {
	offset = min(offset, maxFile+1) // no file that is read has more lines
	return &page{first: offset, last: offset + limit - 1, size: size}
}

// read takes in a whole file, unless it is no text.
func (p *page) read(ctx context.Context, f io.Reader) (kind, error) {
	const buffer = 64 << 10
	r := bufio.NewReaderSize(f, buffer)
	sample, err := r.Peek(sampleSize)
	if err != nil && err != io.EOF {
		return kindText, err
	}
	if kind := kindOf(sample, err == io.EOF); kind != kindText {
		return kind, nil
	}
	if bytes.HasPrefix(sample, byteOrderMark) {
		_, _ = r.Discard(len(byteOrderMark))
	}
	for {
		piece, err := r.ReadSlice('\n')
		p.add(piece)
		switch {
		case err == io.EOF:
			p.end()
			return kindText, nil
		case err != nil && err != bufio.ErrBufferFull:
			return kindText, err
		case ctx.Err() != nil:
			return kindText, context.Cause(ctx)
		}
	}
}

// add takes in a piece of at most one line, with the line end if it is the last one of it.
func (p *page) add(piece []byte) {
	if len(piece) == 0 {
		return
	}
	if !p.open {
		p.open = true
		p.lines++
	}
	if p.wanted() {
		const enough = maxLine*utf8.UTFMax + utf8.UTFMax
		p.line = append(p.line, piece[:min(len(piece), max(0, enough-len(p.line)))]...)
	}
	if piece[len(piece)-1] == '\n' {
		p.end()
	}
}

func (p *page) wanted() bool { return p.first <= p.lines && p.lines <= p.last && !p.overflow }

// end closes the present line. As with the byte order mark, a model does not see a CR at its end.
func (p *page) end() {
	if !p.open {
		return
	}
	p.open = false
	if !p.wanted() {
		return
	}
	text := []rune(strings.TrimSuffix(strings.TrimSuffix(string(p.line), "\n"), "\r"))
	p.line = p.line[:0]
	if len(text) > maxLine {
		text = append(text[:maxLine], []rune("... [truncated]")...)
	}
	if p.lines > p.first {
		p.content.WriteByte('\n')
	}
	fmt.Fprintf(&p.content, "%d|%s", p.lines, string(text)) // invalid bytes have become U+FFFD
	p.overflow = p.content.Len() > resultLimit
}

// hint tells what else there is to read, and why there is nothing.
func (p *page) hint() string {
	switch {
	case p.lines == 0:
		return "The file is empty."
	case p.first > p.lines:
		return fmt.Sprintf("The file has only %d lines.", p.lines)
	case p.lines > p.last:
		return fmt.Sprintf("Lines %d to %d of %d; go on with offset=%d.", p.first, p.last, p.lines, p.last+1)
	}
	return ""
}
