package engine

import (
	"bytes"
	"io"
	"strings"
	"unicode"
)

// Plain makes a text of several lines harmless for a terminal: control and
// formatting characters other than line ends and tabs become question marks.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return '?'
		}
		return r
	}, text)
}

// PlainWriter passes on whole lines as Plain makes them. Flush the rest with
// Close, which does not close w.
func PlainWriter(w io.Writer) io.WriteCloser { return &plainWriter{w: w} }

type plainWriter struct {
	w    io.Writer
	rest []byte // of a line without its end
}

func (p *plainWriter) Write(data []byte) (int, error) {
	p.rest = append(p.rest, data...)
	end := bytes.LastIndexByte(p.rest, '\n') + 1
	if _, err := io.WriteString(p.w, Plain(string(p.rest[:end]))); err != nil {
		return 0, err
	}
	p.rest = append(p.rest[:0], p.rest[end:]...)
	return len(data), nil
}

func (p *plainWriter) Close() error {
	_, err := io.WriteString(p.w, Plain(string(p.rest)))
	p.rest = nil
	return err
}
