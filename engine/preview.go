package engine

import (
	"strings"
	"unicode"

	"hermes-batch/db"
)

// messageChars bounds the messages of outcomes, in characters.
const messageChars = 300

// oneLine makes a text fit for one line of a file or a terminal: no control
// or formatting characters, at most messageChars.
func oneLine(s string) string { return preview(s, messageChars) }

// preview is the beginning of a text as one harmless line.
func preview(s string, most int) string {
	s = s[:min(len(s), 8*most+64)] // bounds the work, not the result
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:max(most-1, 0)]) + "…"
	}
	return s
}

// tellTurn writes a turn to the detailed log.
func (s *session) tellTurn(t *db.Turn) {
	r := s.run
	if !r.o.Verbose {
		return
	}
	r.log.Debug("turn", "prompt", s.ord.Index(), "turn", s.turns, "calls", len(t.Entry.ToolCalls), "finish", t.Finish,
		"tries", t.Tries, "took", t.Took.Round(1e6), "text", r.preview(t.Entry.Value))
	for _, c := range t.Entry.ToolCalls {
		r.log.Debug("call", "prompt", s.ord.Index(), "tool", r.mask.line(c.Name), "arguments", r.preview(c.Arguments))
	}
}

// tellResult writes a tool result to the detailed log.
func (s *session) tellResult(rec *db.Result) {
	r := s.run
	if !r.o.Verbose {
		return
	}
	r.log.Debug("result", "prompt", s.ord.Index(), "tool", r.mask.line(rec.Name), "status", rec.Status,
		"took", rec.Took.Round(1e6), "text", r.preview(rec.Text()))
}

func (r *Run) preview(text string) string { return preview(r.mask.text(text), r.o.PreviewChars) }
