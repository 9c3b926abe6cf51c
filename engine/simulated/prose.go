package simulated

import (
	"slices"
	"strconv"
	"strings"
)

// longestProse is how many bytes of a prompt the model reads to understand it.
// What it is asked stands in the first lines; what follows is material.
const longestProse = 4 << 10

// Marks that stand around the number of a quotation in a masked text.
const (
	quoteBegin = '\x01'
	quoteEnd   = '\x02'
)

// prose is a prompt in which quotations and file names are told from words, so
// that what stands in quotes is never taken for an instruction.
type prose struct {
	masked string      // the text with a numbered mark for each quotation
	bare   string      // the text without quotations and file names
	quotes []quotation // by the number in the mark
	file   string      // the first file name; "" none
}

type quotation struct {
	text string
	code bool // in backquotes
}

var mark = lazy("\x01([0-9]+)\x02")

func readProse(prompt string) *prose {
	prompt = clipProse(prompt)
	p := &prose{}
	var b strings.Builder
	for i := 0; i < len(prompt); {
		inner, size, code := quoteAt(prompt, i)
		switch {
		case size == 0:
			b.WriteByte(prompt[i])
			i++
			continue
		case isFileName(inner) || isExpression(inner):
			b.WriteString(inner)
		default:
			b.WriteString(string(quoteBegin) + strconv.Itoa(len(p.quotes)) + string(quoteEnd))
			p.quotes = append(p.quotes, quotation{inner, code})
		}
		i += size
	}
	p.masked = b.String()
	if names := p.files(p.masked); len(names) > 0 {
		p.file = names[0]
	}
	p.bare = mark().ReplaceAllString(withoutNames(p.masked), " ")
	return p
}

func withoutNames(text string) string {
	var b strings.Builder
	from := 0
	for _, s := range fileNames(text) {
		b.WriteString(text[from:s.begin] + " ")
		from = s.end
	}
	return b.String() + text[from:]
}

func clipProse(prompt string) string {
	prompt = strings.NewReplacer("\x01", "", "\x02", "").Replace(prompt[:min(len(prompt), longestProse)])
	return strings.TrimSpace(strings.ToValidUTF8(prompt, ""))
}

// pairs are the quotation marks, the longest opening ones first.
var pairs = []struct{ open, close string }{
	{"```", "```"}, {"`", "`"}, {`"`, `"`}, {"'", "'"}, {"“", "”"}, {"‘", "’"}, {"«", "»"}, {"„", "“"},
}

// quoteAt returns the quotation that begins at i, and its size with the marks;
// 0 if none does.
func quoteAt(s string, i int) (inner string, size int, code bool) {
	if i > 0 && isWordByte(s[i-1]) && s[i-1] < 0x80 || s[i] != '`' && s[i] != '"' && s[i] != '\'' && s[i] < 0x80 {
		return "", 0, false
	}
	for _, q := range pairs {
		if !strings.HasPrefix(s[i:], q.open) {
			continue
		}
		if n := closing(s[i+len(q.open):], q.close); n > 0 {
			inner = s[i+len(q.open):][:n]
			return unfenced(inner, q.open), len(q.open) + n + len(q.close), q.open[0] == '`'
		}
	}
	return "", 0, false
}

// closing finds the end of a quotation: a mark within a word, as in "don't",
// does not count.
func closing(s, mark string) int {
	for from := 0; ; {
		n := strings.Index(s[from:], mark)
		if n < 0 {
			return -1
		}
		n += from
		after := n + len(mark)
		if mark != "'" && mark != "’" || after == len(s) || !isWordByte(s[after]) || s[after] >= 0x80 {
			return n
		}
		from = after
	}
}

// unfenced drops the language that stands behind an opening fence.
func unfenced(inner, open string) string {
	if open != "```" {
		return inner
	}
	if first, rest, ok := strings.Cut(inner, "\n"); ok && !strings.Contains(first, " ") {
		inner = rest
	}
	return strings.TrimRight(inner, "\n")
}

// files are the file names in a masked text, each once.
func (p *prose) files(masked string) (names []string) {
	seen := map[string]bool{}
	for _, s := range fileNames(masked) {
		if name := masked[s.begin:s.end]; !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// quoted are the quotations in a masked text.
func (p *prose) quoted(masked string) (found []quotation) {
	for _, m := range mark().FindAllStringSubmatch(masked, -1) {
		n, _ := strconv.Atoi(m[1])
		found = append(found, p.quotes[n])
	}
	return found
}

// open puts the quotations back into a masked text.
func (p *prose) open(masked string) string {
	return mark().ReplaceAllStringFunc(masked, func(m string) string {
		n, _ := strconv.Atoi(strings.Trim(m, "\x01\x02"))
		return p.quotes[n].text
	})
}

// mentionsSaving reports whether something is to be written to the file.
func (p *prose) mentionsSaving() bool {
	return p.file != "" && containsAny(strings.ToLower(p.bare), []string{"write", "save", "store", "put "})
}

// hasCode reports whether something stands in backquotes.
func (p *prose) hasCode() bool {
	return slices.ContainsFunc(p.quotes, func(q quotation) bool { return q.code })
}
