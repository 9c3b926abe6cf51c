package tools

import (
	"fmt"
	"strings"
)

// searchReport is the shape of a search's result.
type searchReport struct {
	TotalCount  int            `json:"total_count"`
	Matches     []lineMatch    `json:"matches,omitempty"`
	Format      string         `json:"matches_format,omitempty"`
	MatchesText string         `json:"matches_text,omitempty"`
	Files       []string       `json:"files,omitempty"`
	Counts      map[string]int `json:"counts,omitempty"`
	Truncated   bool           `json:"truncated,omitempty"`
	LowerBound  bool           `json:"total_count_is_lower_bound,omitempty"`
	LimitReason string         `json:"limit_reason,omitempty"`
	Warning     string         `json:"warning,omitempty"`
	Hint        string         `json:"hint,omitempty"`
}

type lineMatch struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Content string `json:"content"`
}

// grouped is the number of matches from which on a text that names each file once is shorter.
const grouped = 5

func (s *search) report() searchReport {
	r := searchReport{
		TotalCount: s.total, Files: s.paths, Counts: s.counts,
		Truncated: s.stopped != "" || s.args.Offset+s.shown < s.seen, LowerBound: s.stopped != "", LimitReason: s.stopped,
		Warning: s.warning(), Hint: s.hint(),
	}
	if len(s.lines) >= grouped || len(s.lines) > 0 && s.args.Context > 0 {
		r.Format = "grouped by path: the path of a file on a line of its own, then its matches as '  <line>: <content>'"
		if s.args.Context > 0 {
			r.Format += ", lines around them as '  <line>- <content>', and '  --' where lines are left out"
		}
		r.MatchesText = groupedText(s.lines, s.args.Context > 0)
		return r
	}
	for _, l := range s.lines {
		r.Matches = append(r.Matches, lineMatch{l.path, l.number, l.text})
	}
	return r
}

// groupedText writes lines below the names of their files.
func groupedText(lines []shownLine, gaps bool) string {
	var b strings.Builder
	for i, l := range lines {
		switch {
		case i == 0:
			b.WriteString(l.path)
		case lines[i-1].path != l.path:
			b.WriteString("\n" + l.path)
		case gaps && lines[i-1].number+1 != l.number:
			b.WriteString("\n  --")
		}
		mark := "-"
		if l.match {
			mark = ":"
		}
		fmt.Fprintf(&b, "\n  %d%s %s", l.number, mark, l.text)
	}
	return b.String()
}

// hint tells how to see the rest, and why there is nothing.
func (s *search) hint() string {
	switch next := s.args.Offset + s.shown; {
	case s.seen == 0:
		return ""
	case s.args.Offset >= s.seen:
		return fmt.Sprintf("There are only %d results.", s.seen)
	case next < s.seen:
		more := ""
		if s.stopped != "" {
			more = "at least "
		}
		return fmt.Sprintf("Results %d to %d of %s%d; go on with offset=%d.", s.args.Offset+1, next, more, s.seen, next)
	}
	return ""
}

// warning names what was not searched, where that may be why something was not found.
func (s *search) warning() string {
	var left []string
	add := func(n int, what string) {
		if n > 0 {
			left = append(left, fmt.Sprintf("%d %s", n, what))
		}
	}
	if s.total == 0 {
		add(s.ignored, "ignored by .gitignore")
		add(s.hidden, "hidden")
		add(s.binary, "binary")
	}
	add(s.unreadable, "not readable")
	if len(left) == 0 && s.cut == 0 {
		return ""
	}
	var text string
	if len(left) > 0 {
		text = "Not searched: " + strings.Join(left, ", ") + " (files and folders)."
	}
	if s.cut > 0 {
		text = strings.TrimSpace(fmt.Sprintf("%s Of lines over %d bytes only the beginning was searched.", text, s.limits.longer))
	}
	return text
}
