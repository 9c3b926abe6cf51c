package tools

import (
	"cmp"
	"slices"
	"strings"
)

// indentation brings lines that a model wrote to the indentation of the file that they go into.
// It is learned from the lines of the old text and of what was taken for it.
type indentation struct {
	lines []*indentPair // of the old text's lines; nil for blank ones
	pairs []indentPair  // by the length of wrote, each once; none if nothing differs
	first *indentPair   // of a first line whose indentation the model left out
	step  int           // by how many blanks the model indents at least; 0 if it does not tell
}

// indentPair is how the model and the file indent the same line.
type indentPair struct{ wrote, has string }

// learnIndentation compares the lines of an old text with those that were taken for it; a model's
// own step shows in the new ones as well.
func learnIndentation(wrote, has, new []string) indentation {
	in := indentation{lines: make([]*indentPair, len(wrote)), step: smallestStep(slices.Concat(wrote, new))}
	differ, same := false, false
	for i := range wrote {
		if strings.TrimSpace(wrote[i]) == "" || strings.TrimSpace(has[i]) == "" {
			continue
		}
		p := &indentPair{indentOf(wrote[i]), indentOf(has[i])}
		in.lines[i] = p
		if i == 0 && p.wrote == "" && p.has != "" {
			in.first = p
			continue
		}
		differ = differ || *p != indentPair{p.wrote, p.wrote}
		same = same || p.wrote == p.has && p.has != ""
		in.add(*p)
	}
	switch {
	case in.first != nil && same:
		in.lines[0] = nil
	case in.first != nil:
		// All lines are shifted, the first one as well.
		in.add(*in.first)
		in.first, differ = nil, true
	}
	if !differ {
		in.pairs = nil
	}
	slices.SortStableFunc(in.pairs, func(a, b indentPair) int { return cmp.Compare(len(a.wrote), len(b.wrote)) })
	return in
}

func (in *indentation) add(p indentPair) {
	if !slices.ContainsFunc(in.pairs, func(q indentPair) bool { return q.wrote == p.wrote }) {
		in.pairs = append(in.pairs, p)
	}
}

// smallestStep is the least difference between the indentations of lines.
func smallestStep(lines []string) int {
	var widths []int
	for _, l := range lines {
		if strings.TrimSpace(l) != "" {
			widths = append(widths, len(indentOf(l)))
		}
	}
	slices.Sort(widths)
	least := 0
	for i := 1; i < len(widths); i++ {
		if d := widths[i] - widths[i-1]; d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}

func indentOf(line string) string {
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// line indents a new line as the file does. at is the line of the old text where it goes, first
// says that it is the first one of the new text.
func (in indentation) line(line string, at int, first bool) string {
	wrote := indentOf(line)
	text := line[len(wrote):]
	switch {
	case strings.TrimSpace(line) == "":
		return line
	case first && in.first != nil && wrote == "":
		return in.first.has + text
	case len(in.pairs) == 0:
		return line
	}
	return in.of(wrote, at) + text
}

// of translates an indentation: as the nearest line that has it, else from the nearest shorter one
// with what it has more, else from the shortest one with what it has less.
func (in indentation) of(wrote string, at int) string {
	for distance := range len(in.lines) {
		for _, i := range []int{at + distance, at - distance} {
			if i >= 0 && i < len(in.lines) && in.lines[i] != nil && in.lines[i].wrote == wrote {
				return in.lines[i].has
			}
		}
	}
	wroteStep, hasStep := in.steps()
	for _, p := range slices.Backward(in.pairs) {
		more, ok := strings.CutPrefix(wrote, p.wrote)
		switch {
		case !ok:
			continue
		case more != "" && wroteStep != "" && strings.Trim(more, wroteStep[:1]) == "":
			more = strings.Repeat(hasStep, len(more)/len(wroteStep)) + more[:len(more)%len(wroteStep)]
		}
		return p.has + more
	}
	p := in.pairs[0]
	less := len(p.wrote) - len(wrote)
	if wroteStep != "" {
		less = less / len(wroteStep) * len(hasStep)
	}
	return p.has[:max(0, len(p.has)-max(0, less))]
}

// steps are one level of indentation, as the model and as the file writes it; empty if they are
// not known to differ.
func (in indentation) steps() (wrote, has string) {
	const blanks, tab = "        ", "\t"
	for i := 1; i < len(in.pairs); i++ {
		a, b := in.pairs[i-1], in.pairs[i]
		wrote, ok := strings.CutPrefix(b.wrote, a.wrote)
		has, also := strings.CutPrefix(b.has, a.has)
		if !ok || !also || wrote == "" || has == "" || wrote == has {
			continue
		}
		// Several levels at once, such as two tabs for eight blanks.
		levels := min(len(wrote), len(has))
		for levels > 1 && (len(wrote)%levels != 0 || len(has)%levels != 0) {
			levels--
		}
		return wrote[:len(wrote)/levels], has[:len(has)/levels]
	}
	switch p := in.pairs[0]; {
	case strings.Contains(p.has, tab) && !strings.Contains(p.wrote, tab) && 0 < in.step && in.step <= len(blanks):
		return blanks[:in.step], tab
	case strings.Contains(p.wrote, tab) && p.has != "" && !strings.Contains(p.has, tab):
		return tab, p.has[:max(1, len(p.has)/len(p.wrote))]
	}
	return "", ""
}
