package flags

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A Group is a titled part of the help text. Names that the flag set does not
// have are skipped, so that verbs can share groups.
type Group struct {
	Title string
	Names []string
}

// Columns of the help text.
const (
	narrowest  = 80  // also where the width is not known
	widest     = 120 // longer lines are hard to read
	widestName = 34  // a longer flag has its text on the next line
)

// Help writes intro as it is and every flag of fs under the title of its
// group: name with two dashes, placeholder, usage text and default, wrapped to
// the width of the terminal that w is (80 to 120 columns; elsewhere what
// COLUMNS says, or 80). A back-quoted word of the usage text is the
// placeholder, as in the flag package, here in capitals. Flags without a group follow under
// "Other". Secrets are shown without a default.
func Help(w io.Writer, intro string, fs *flag.FlagSet, groups []Group) {
	var b strings.Builder
	if intro = strings.TrimRight(intro, "\n"); intro != "" {
		b.WriteString(intro + "\n")
	}
	if rest := Ungrouped(fs, groups); len(rest) > 0 {
		groups = append(slices.Clip(groups), Group{"Other", rest})
	}
	page := page{width: columns(w), left: nameColumn(fs)}
	for _, g := range groups {
		page.group(&b, fs, g)
	}
	io.WriteString(w, b.String())
}

// Ungrouped returns the flags of fs that no group names, in sorted order.
func Ungrouped(fs *flag.FlagSet, groups []Group) []string {
	var rest []string
	fs.VisitAll(func(f *flag.Flag) {
		if !slices.ContainsFunc(groups, func(g Group) bool { return slices.Contains(g.Names, f.Name) }) {
			rest = append(rest, f.Name)
		}
	})
	return rest
}

// A page has its width and that of its left column, in characters.
type page struct{ width, left int }

func (p page) group(b *strings.Builder, fs *flag.FlagSet, g Group) {
	title := false
	for _, name := range g.Names {
		f := fs.Lookup(name)
		if f == nil {
			continue
		}
		if !title {
			fmt.Fprintf(b, "\n%s:\n", g.Title)
			title = true
		}
		p.flag(b, f)
	}
}

func (p page) flag(b *strings.Builder, f *flag.Flag) {
	name, usage := describe(f)
	lines := wrap(usage, p.width-p.left)
	pad := p.left - utf8.RuneCountInString(name)
	if len(lines) == 0 {
		b.WriteString(name + "\n")
		return
	}
	if pad < 2 {
		b.WriteString(name + "\n")
		name, pad = "", p.left
	}
	for _, line := range lines {
		b.WriteString(name + strings.Repeat(" ", pad) + line + "\n")
		name, pad = "", p.left
	}
}

// nameColumn is the width of the left column: that of the longest flag that
// is not over the limit, and two blanks on each side.
func nameColumn(fs *flag.FlagSet) int {
	left := 0
	fs.VisitAll(func(f *flag.Flag) {
		name, _ := describe(f)
		if n := utf8.RuneCountInString(name); n <= widestName {
			left = max(left, n)
		}
	})
	return left + 2
}

// describe makes the left column and the text of one flag.
func describe(f *flag.Flag) (name, usage string) {
	holder, usage := placeholder(f)
	name = "  --" + f.Name
	switch {
	case holder == "":
	case isBool(f.Value):
		name += "[=" + holder + "]"
	default:
		name += " " + holder
	}
	if def := f.DefValue; !isSecret(f.Value) && !slices.Contains([]string{"", "0", "0s", "false"}, def) {
		usage = strings.TrimSpace(usage + " (default " + def + ")")
	}
	return name, usage
}

// placeholder returns the name of the flag's value, "" for a boolean, and the
// usage text without back quotes.
func placeholder(f *flag.Flag) (name, usage string) {
	name, usage = flag.UnquoteUsage(f)
	if usage != f.Usage {
		return strings.ToUpper(name), usage
	}
	if h, ok := f.Value.(holder); ok {
		return h.placeholder(), usage
	}
	if isBool(f.Value) {
		return "", usage
	}
	g, ok := f.Value.(flag.Getter)
	if !ok {
		return "VALUE", usage
	}
	switch g.Get().(type) {
	case string:
		return "TEXT", usage
	case int, int64, uint, uint64:
		return "N", usage
	case float64:
		return "X", usage
	case time.Duration:
		return "TIME", usage
	}
	return "VALUE", usage
}

// wrap breaks text at blanks into lines of at most width characters, where no
// word is longer; line breaks in the text stay.
func wrap(text string, width int) []string {
	var lines []string
	for part := range strings.SplitSeq(text, "\n") {
		line := ""
		for _, word := range strings.Fields(part) {
			if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
				lines = append(lines, line)
				line = ""
			}
			if line != "" {
				line += " "
			}
			line += word
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// columns is the width to write to w in.
func columns(w io.Writer) int {
	n := 0
	if f, ok := w.(*os.File); ok {
		n = terminalColumns(f)
	}
	if n == 0 {
		n, _ = strconv.Atoi(os.Getenv("COLUMNS"))
	}
	return min(max(n, narrowest), widest)
}
