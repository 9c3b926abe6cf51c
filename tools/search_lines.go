package tools

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"hermes-batch/tools/sandbox"
)

// search is one search under way, and what it has found so far.
type search struct {
	args   searchArgs
	limits searchLimits
	box    sandbox.Files
	re     *regexp.Regexp // nil if files are sought by name
	must   required       // by re
	files  nameFilter     // which files
	names  nameFilter     // what files sought by name are called
	alone  bool           // in the one file that was named

	total   int // results: lines, or files
	seen    int // what offset and limit count: lines, or files
	shown   int // of these, how many are in the answer
	bytes   int // of the answer, about
	full    bool
	lines   []shownLine
	paths   []string
	counts  map[string]int
	stopped string // why the search ended early

	looked, hidden, ignored, binary, unreadable, cut int // files; cut counts lines

	reader *bufio.Reader
	long   []byte
}

// shownLine is a line of the answer: a match, or a neighbour of one.
type shownLine struct {
	path   string
	number int
	text   string
	match  bool
}

// visit takes in one file.
func (s *search) visit(ctx context.Context, at found) error {
	switch {
	case !s.alone && !s.files.fits(at.inside):
		return nil
	case s.re == nil:
		if !s.names.fits(at.inside) {
			return nil
		}
		s.total++
		if s.show(len(at.shown)) {
			s.paths = append(s.paths, at.shown)
		}
		return s.enough()
	}
	if err := s.mayGoOn(ctx); err != nil {
		return err
	}
	f, err := s.box.Open(at.name)
	if err != nil {
		if s.alone || beyondModel(err) {
			return err
		}
		s.unreadable++
		return nil
	}
	defer f.Close()
	return s.contents(ctx, at, f)
}

// show decides whether the next result is in the answer.
func (s *search) show(bytes int) bool {
	i := s.seen
	s.seen++
	if i < s.args.Offset || s.shown == s.args.Limit || s.full {
		return false
	}
	const around = 16 // quotes, commas, numbers
	if s.bytes += bytes + around; s.bytes > s.limits.shown && s.shown > 0 {
		s.full = true
		return false
	}
	s.shown++
	return true
}

// enough ends a search that goes on only to count.
func (s *search) enough() error {
	if s.seen >= s.args.Offset+s.limits.count && (s.full || s.shown == s.args.Limit) {
		return stopReason("stopped counting; a narrower pattern, path or file_glob finds less")
	}
	return nil
}

// contents searches an open file, unless it is no text.
func (s *search) contents(ctx context.Context, at found, f io.Reader) error {
	if s.reader == nil {
		const buffer = 64 << 10
		s.reader = bufio.NewReaderSize(nil, buffer)
	}
	s.reader.Reset(f)
	sample, err := s.reader.Peek(sampleSize)
	if err == nil || err == io.EOF {
		if kindOf(sample, err == io.EOF) != kindText {
			s.binary++
			return nil
		}
		if bytes.HasPrefix(sample, byteOrderMark) {
			_, _ = s.reader.Discard(len(byteOrderMark))
		}
		err = s.eachLine(ctx, at)
	}
	if err != nil && !s.alone && !beyondModel(err) {
		if _, stop := err.(stopReason); !stop {
			s.unreadable++
			return nil
		}
	}
	return err
}

// eachLine searches the lines of the present file.
func (s *search) eachLine(ctx context.Context, at found) error {
	const between = 1 << 10 // lines between two looks at the clock
	around := neighbours{search: s, path: at.shown}
	matches, looked := 0, 0
	for number := 1; ; number++ {
		number += around.skip()
		line, err := s.nextLine()
		if err == io.EOF {
			break
		}
		if err == nil && (number-looked >= between || len(line) > between) {
			looked = number
			err = s.mayGoOn(ctx)
		}
		if err != nil {
			return err
		}
		if s.must.index(line) < 0 || !s.re.Match(line) {
			around.other(number, line)
			continue
		}
		matches++
		if s.args.OutputMode == showFiles {
			break
		}
		if s.args.OutputMode == showLines {
			s.total++
			around.match(number, line)
			if err := s.enough(); err != nil {
				return err
			}
		}
	}
	return s.wholeFile(at, matches)
}

// wholeFile adds a file to an answer that is made of files.
func (s *search) wholeFile(at found, matches int) error {
	if matches == 0 || s.args.OutputMode == showLines {
		return nil
	}
	s.total += matches
	if !s.show(len(at.shown)) {
		return s.enough()
	}
	if s.args.OutputMode == showFiles {
		s.paths = append(s.paths, at.shown)
		return nil
	}
	if s.counts == nil {
		s.counts = make(map[string]int)
	}
	s.counts[at.shown] = matches
	return nil
}

// nextLine reads a line without its end; only the beginning of a very long one.
func (s *search) nextLine() ([]byte, error) {
	line, err := s.reader.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		s.long = append(s.long[:0], line...)
		for err == bufio.ErrBufferFull {
			line, err = s.reader.ReadSlice('\n')
			s.long = append(s.long, line[:min(len(line), max(0, s.limits.longer-len(s.long)))]...)
		}
		if line = s.long; len(line) == s.limits.longer {
			s.cut++
		}
	}
	if err != nil && (err != io.EOF || len(line) == 0) {
		return nil, err
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
}

// neighbours shows matches of one file together with the lines around them.
type neighbours struct {
	*search
	path   string
	before []shownLine // the latest lines that are not shown
	after  int         // lines still to show after the last match
}

func (n *neighbours) match(number int, line []byte) {
	text := lineAround(line, n.re, n.limits.line)
	cost := len(encode(text))
	for _, l := range n.before {
		cost += len(encode(l.text))
	}
	n.after = 0
	if n.show(cost) {
		n.lines = append(append(n.lines, n.before...), shownLine{n.path, number, text, true})
		n.after = n.args.Context
	}
	n.before = n.before[:0]
}

// other takes in a line without a match.
func (n *neighbours) other(number int, line []byte) {
	if n.args.Context == 0 {
		return
	}
	neighbour := shownLine{n.path, number, lineAround(line, nil, n.limits.line), false}
	if n.after > 0 {
		n.after--
		n.bytes += len(encode(neighbour.text))
		n.lines = append(n.lines, neighbour)
		return
	}
	if len(n.before) == n.args.Context {
		n.before = append(n.before[:0], n.before[1:]...)
	}
	n.before = append(n.before, neighbour)
}

// skip passes over the lines in the buffer that have no match and are not shown around one, and
// returns how many.
func (n *neighbours) skip() int {
	if len(n.must) == 0 || n.after > 0 {
		return 0
	}
	lines, _ := n.reader.Peek(n.reader.Buffered())
	lines = lines[:bytes.LastIndexByte(lines, '\n')+1]
	if i := n.must.index(lines); i >= 0 {
		lines = lines[:bytes.LastIndexByte(lines[:i], '\n')+1]
	}
	for range n.args.Context {
		lines = lines[:bytes.LastIndexByte(bytes.TrimSuffix(lines, []byte("\n")), '\n')+1]
	}
	if len(lines) == 0 {
		return 0
	}
	n.before = n.before[:0]
	skipped := bytes.Count(lines, []byte("\n"))
	_, _ = n.reader.Discard(len(lines))
	return skipped
}

// lineAround shows a line; of a long one the part where the match is.
func lineAround(line []byte, re *regexp.Regexp, limit int) string {
	line = bytes.TrimRight(line, " \t\r")
	if len(line) <= limit {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	from := 0
	if re != nil {
		if at := re.FindIndex(line); at != nil && at[1] > limit {
			from = min(max(0, at[0]-limit/4), len(line)-limit)
		}
	}
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	to := from + limit
	for to < len(line) && to > from && !utf8.RuneStart(line[to]) {
		to--
	}
	text := strings.ToValidUTF8(string(line[from:min(to, len(line))]), "\uFFFD")
	if from > 0 {
		text = "…" + text
	}
	if to < len(line) {
		text += "…"
	}
	return text
}
