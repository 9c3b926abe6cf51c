package tools

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// What a section of a patch does to its file.
type patchKind string

const (
	patchUpdate patchKind = "Update"
	patchAdd    patchKind = "Add"
	patchDelete patchKind = "Delete"
	patchMove   patchKind = "Move"
)

// section is what a patch says about one file.
type section struct {
	kind  patchKind
	path  string
	to    string   // new path, of a file that is moved; also of an updated one
	hunks []hunk   // of an update
	text  []string // lines of an added file
	line  int      // of the patch, from 1 on
}

// hunk is one place of a file that changes.
type hunk struct {
	hints    []string // lines above it, outermost first
	old, new []string
	atEnd    bool // of the file
	line     int  // of the patch
}

// patchError says what is wrong at a line of a patch.
type patchError struct {
	line int
	what string
}

func (e *patchError) Error() string { return fmt.Sprintf("line %d of the patch: %s", e.line, e.what) }

var (
	patchHeader = regexp.MustCompile(`^\*\*\*\s*(?i:(Begin Patch|End Patch|End of File|(?:Update|Add|Create|Delete|Remove|Move) File|Move to))\s*:?\s*(.*?)\s*$`)
	hunkNumbers = regexp.MustCompile(`^-\d+(,\d+)? \+\d+(,\d+)?( @@)?`)
)

// parsePatch reads a patch in V4A form:
//
//	*** Begin Patch
//	*** Update File: path
//	*** Move to: path
//	@@ a line above the place
//	 a line that stays
//	-a line that goes
//	+a line that comes
//	*** End of File
//	*** Add File: path
//	+its lines
//	*** Delete File: path
//	*** Move File: path -> path
//	*** End Patch
//
// What models get wrong without being misunderstood is let pass: lines that stay without their
// blank, a fence around the patch, no first line. A patch without its last line may have been cut
// off, and is refused.
func parsePatch(text string) ([]section, error) {
	p := &patchParser{lines: strings.Split(text, "\n")}
	for p.at = 0; p.at < len(p.lines); p.at++ {
		if err := p.take(strings.TrimRight(p.lines[p.at], "\r")); err != nil {
			return nil, err
		}
	}
	switch {
	case p.open:
		return nil, p.fail("the patch does not end with *** End Patch; it may have been cut off")
	case len(p.sections) == 0:
		return nil, p.fail("the patch has no *** Update File, *** Add File, *** Delete File or *** Move File")
	}
	for i := range p.sections {
		if err := p.sections[i].check(); err != nil {
			return nil, err
		}
	}
	return p.sections, nil
}

type patchParser struct {
	lines    []string
	at       int
	open     bool // between the first and the last line
	begun    bool
	sections []section
	blank    int // blank lines that belong to the section if it goes on
}

func (p *patchParser) fail(format string, args ...any) error {
	return &patchError{min(p.at+1, len(p.lines)), fmt.Sprintf(format, args...)}
}

func (p *patchParser) take(line string) error {
	header := patchHeader.FindStringSubmatch(line)
	switch {
	case header != nil:
		return p.header(strings.ToLower(header[1]), header[2])
	case !p.open:
		return p.outside(line)
	case strings.HasPrefix(line, "***"):
		return p.fail("%s is no header of a patch", preview(line, 80))
	case len(p.sections) == 0:
		if strings.TrimSpace(line) == "" {
			return nil
		}
		return p.fail("before the first *** Update File, *** Add File, *** Delete File or *** Move File")
	}
	return p.body(&p.sections[len(p.sections)-1], line)
}

// outside lets fences and blank lines pass, before the patch also what a model says about it.
func (p *patchParser) outside(line string) error {
	word := strings.TrimSpace(line)
	if word == "" || strings.HasPrefix(word, "```") || !p.begun || word == "EOF" || word == "PATCH" {
		return nil
	}
	return p.fail("something follows *** End Patch")
}

func (p *patchParser) header(name, rest string) error {
	p.blank = 0
	switch name {
	case "begin patch":
		if p.open {
			return p.fail("*** Begin Patch within a patch")
		}
		p.open, p.begun = true, true
		return nil
	case "end patch":
		if !p.open {
			return p.fail("*** End Patch without *** Begin Patch")
		}
		p.open = false
		return nil
	case "move to", "end of file":
		return p.note(name, rest)
	}
	p.open, p.begun = true, true
	s := section{path: rest, line: p.at + 1}
	switch name {
	case "update file":
		s.kind = patchUpdate
	case "add file", "create file":
		s.kind = patchAdd
	case "delete file", "remove file":
		s.kind = patchDelete
	case "move file":
		s.kind = patchMove
		var ok bool
		if s.path, s.to, ok = strings.Cut(rest, "->"); !ok {
			return p.fail("*** Move File needs two paths: old -> new")
		}
		s.path, s.to = strings.TrimSpace(s.path), strings.TrimSpace(s.to)
	}
	p.sections = append(p.sections, s)
	return nil
}

// note takes in a header that belongs to a section.
func (p *patchParser) note(name, rest string) error {
	if len(p.sections) == 0 || p.sections[len(p.sections)-1].kind != patchUpdate {
		return p.fail("*** %s outside of an *** Update File", strings.ToUpper(name[:1])+name[1:])
	}
	s := &p.sections[len(p.sections)-1]
	if name == "move to" {
		s.to = rest
		return nil
	}
	if len(s.hunks) == 0 {
		return p.fail("*** End of File before any line")
	}
	s.hunks[len(s.hunks)-1].atEnd = true
	return nil
}

// body takes in a line of a section.
func (p *patchParser) body(s *section, line string) error {
	switch {
	case strings.TrimSpace(line) == "" && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t"):
		// Blank lines at the end of a section are the model's own.
		p.blank++
		return nil
	case strings.HasPrefix(line, `\ No newline`):
		return nil
	case s.kind == patchAdd:
		return p.added(s, line)
	case s.kind != patchUpdate:
		return p.fail("*** %s File has no lines", s.kind)
	}
	hint, isHint := strings.CutPrefix(line, "@@")
	if last := len(s.hunks) - 1; isHint || last < 0 || s.hunks[last].atEnd {
		p.newHunk(s, isHint)
	}
	h := &s.hunks[len(s.hunks)-1]
	for ; p.blank > 0; p.blank-- {
		h.keep("")
	}
	switch {
	case isHint:
		if hint = cleanHint(hint); hint != "" {
			h.hints = append(h.hints, hint)
		}
	case line[0] == '+':
		h.new = append(h.new, line[1:])
	case line[0] == '-':
		h.old = append(h.old, line[1:])
	case line[0] == ' ':
		h.keep(line[1:])
	default:
		h.keep(line)
	}
	return nil
}

// cleanHint drops the line numbers of a unified diff and signs at the end.
func cleanHint(hint string) string {
	for {
		hint = strings.TrimSpace(hint)
		rest := hunkNumbers.ReplaceAllString(hint, "")
		if rest == hint {
			return strings.TrimRightFunc(hint, func(r rune) bool { return r == '@' || unicode.IsSpace(r) })
		}
		hint = rest
	}
}

func (h *hunk) keep(line string) {
	h.old = append(h.old, line)
	h.new = append(h.new, line)
}

// newHunk begins a hunk, unless the last one has nothing but hints: these go from the outside in.
func (p *patchParser) newHunk(s *section, isHint bool) {
	p.blank = 0
	last := len(s.hunks) - 1
	if isHint && last >= 0 && len(s.hunks[last].old)+len(s.hunks[last].new) == 0 && !s.hunks[last].atEnd {
		return
	}
	s.hunks = append(s.hunks, hunk{line: p.at + 1})
}

func (p *patchParser) added(s *section, line string) error {
	for ; p.blank > 0; p.blank-- {
		s.text = append(s.text, "")
	}
	text, ok := strings.CutPrefix(line, "+")
	if !ok {
		return p.fail("each line of an added file begins with +")
	}
	s.text = append(s.text, text)
	return nil
}

// check finds a section that cannot be meant.
func (s section) check() error {
	fail := func(format string, args ...any) error {
		return &patchError{s.line, fmt.Sprintf(format, args...)}
	}
	for _, path := range []string{s.path, s.to} {
		if slices.Contains(strings.Split(path, "/"), "..") {
			return fail("%s: .. is not allowed in the paths of a patch", path)
		}
	}
	switch {
	case s.path == "":
		return fail("*** %s File without a path", s.kind)
	case s.kind == patchMove && s.to == "":
		return fail("*** Move File needs two paths: old -> new")
	case s.kind == patchUpdate && len(s.hunks) == 0 && s.to == "":
		return fail("*** Update File: %s changes nothing", s.path)
	}
	for _, h := range s.hunks {
		if slices.Equal(h.old, h.new) {
			return &patchError{h.line, "nothing is added or removed here; mark lines with + and -"}
		}
	}
	return nil
}
