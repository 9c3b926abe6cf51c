package tools

import (
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// How alike things must be to be taken for each other: 0 is not at all, 1 is the same.
const (
	likeOne     = 0.5 // the inner lines of a block whose first and last line occur once together
	likeOneOf   = 0.7 // the same where they occur more often
	likeLine    = 0.8 // two lines
	likeBlock   = 0.5 // share of such lines in a block
	likeTouched = 0.6 // a line that the change does away with, and the one it would really remove
	likeRival   = 0.1 // a second block that comes as near as this makes the first one doubtful
)

const (
	fewestLines = 3           // of a block that is found by likeness
	longestLine = 300         // bytes of a line that is compared letter by letter
	mostSteps   = 100_000_000 // of all comparisons of one search; they take about a second
)

// comparison finds out how alike lines are, until its steps are used up.
type comparison struct{ steps int }

// lines returns how alike two folded lines are.
func (c *comparison) lines(a, b string) float64 {
	longer, shorter := max(len(a), len(b)), min(len(a), len(b))
	switch {
	case a == b:
		return 1
	case longer > longestLine || 2*shorter < longer || c.steps > mostSteps:
		return 0
	}
	c.steps += longer * shorter
	return 1 - float64(editDistance(a, b))/float64(longer)
}

// block is an old text made ready to be looked for by likeness.
type block struct {
	comparison
	lines   []string // folded
	closed  bool
	touched []bool // the lines that the change does not keep
}

func newBlock(c change) *block {
	old, closed := strings.CutSuffix(c.old, "\n")
	b := &block{closed: closed, touched: touchedLines(c)}
	for line := range strings.SplitSeq(old, "\n") {
		b.lines = append(b.lines, foldSigns.line(line))
	}
	return b
}

// touchedLines says which lines of the old text the new one does not have.
func touchedLines(c change) []bool {
	old := strings.TrimSuffix(c.old, "\n") + "\n"
	touched := make([]bool, strings.Count(old, "\n"))
	for _, e := range udiff.Lines(old, strings.TrimSuffix(c.new, "\n")+"\n") {
		from := strings.Count(old[:e.Start], "\n")
		for i := range strings.Count(old[e.Start:e.End], "\n") {
			touched[from+i] = true
		}
	}
	return touched
}

// mayTouch says whether the lines from i on are alike where the change does away with something.
func (b *block) mayTouch(lines []string, i int) bool {
	for k, touched := range b.touched {
		if touched && b.comparison.lines(b.lines[k], lines[i+k]) < likeTouched {
			return false
		}
	}
	return true
}

func (b *block) span(l *lined, i int) span {
	last := i + len(b.lines) - 1
	if b.closed {
		return span{l.starts[i], l.next(last)}
	}
	return span{l.starts[i], l.starts[last] + len(l.line(last))}
}

// byAnchors finds a block by its first and its last line, if what lies between is alike.
func byAnchors(l *lined, c change) ([]span, change) {
	as := trimBoundary(c)
	b := newBlock(as)
	n := len(b.lines)
	if n < fewestLines {
		return nil, c
	}
	lines := l.fold(foldSigns)
	var candidates []int
	for i := 0; i+n <= len(lines); i++ {
		if lines[i] == b.lines[0] && lines[i+n-1] == b.lines[n-1] {
			candidates = append(candidates, i)
		}
	}
	least := likeOne
	if len(candidates) > 1 {
		least = likeOneOf
	}
	var spans []span
	for _, i := range candidates {
		sum := 0.0
		for k := 1; k < n-1; k++ {
			sum += b.comparison.lines(b.lines[k], lines[i+k])
		}
		if sum >= least*float64(n-2) && b.mayTouch(lines, i) {
			spans = append(spans, b.span(l, i))
		}
	}
	return spans, as
}

// byContext finds the block of lines that is most like the old text, and those that come near.
func byContext(l *lined, c change) ([]span, change) {
	as := trimBoundary(c)
	b := newBlock(as)
	if len(b.lines) < fewestLines {
		return nil, c
	}
	lines := l.fold(foldSigns)
	shares := make(map[int]float64)
	best := likeBlock
	for i := 0; i+len(b.lines) <= len(lines); i++ {
		if share := b.share(lines[i:]); share >= max(likeBlock, best-likeRival) && b.mayTouch(lines, i) {
			shares[i] = share
			best = max(best, share)
		}
	}
	if b.steps > mostSteps {
		return nil, c // what comes last was not looked at
	}
	var spans []span
	for i, share := range shares {
		if share > best-likeRival {
			spans = append(spans, b.span(l, i))
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return a.start - b.start })
	return spans, as
}

// share is how many of the block's lines that hold something are like those of a text.
func (b *block) share(lines []string) float64 {
	all, alike := 0, 0
	b.steps += len(b.lines)
	if b.steps > mostSteps {
		return 0
	}
	for k, want := range b.lines {
		if want == "" {
			continue
		}
		all++
		if b.comparison.lines(want, lines[k]) >= likeLine {
			alike++
		}
	}
	if alike < 2 {
		return 0
	}
	return float64(alike) / float64(all)
}

// nearestLine finds the line that is most like the first line of an old text that holds something;
// false if none is.
func nearestLine(l *lined, old string) (line int, ok bool) {
	const least = 0.6
	var want string
	for line := range strings.Lines(old) {
		if want = foldSigns.line(strings.TrimSuffix(line, "\n")); want != "" {
			break
		}
	}
	var c comparison
	best := least
	for i, have := range l.fold(foldSigns) {
		if likeness := c.lines(want, have); likeness > best && have != "" {
			best, line, ok = likeness, i, true
		}
	}
	return line, ok
}
