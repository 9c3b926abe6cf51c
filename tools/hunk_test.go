package tools

import (
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
)

// hunksOf writes the difference of two texts as hunks with some lines around each change.
func hunksOf(t *testing.T, before, after string, around int) []hunk {
	d, err := udiff.ToUnifiedDiff("a", "b", before, udiff.Lines(before, after), around)
	if err != nil {
		t.Fatal(err)
	}
	var hunks []hunk
	for _, u := range d.Hunks {
		var h hunk
		for _, l := range u.Lines {
			text := strings.TrimSuffix(l.Content, "\n")
			switch l.Kind {
			case udiff.Delete:
				h.old = append(h.old, text)
			case udiff.Insert:
				h.new = append(h.new, text)
			default:
				h.keep(text)
			}
		}
		hunks = append(hunks, h)
	}
	return hunks
}

// Any difference of two files, written as a patch, makes the one of the other, unless its place is
// doubtful.
func FuzzHunks(f *testing.F) {
	f.Add("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n", "a\nB\nc\nd\ne\nf\ng\nh\ni\nJ\nk\n", uint8(3))
	f.Add("x\nx\nx\n", "x\ny\nx\n", uint8(1))
	f.Add("x\nx", "x\ny", uint8(1))
	f.Add("", "a\nb\n", uint8(1))
	f.Add("a\nb\n", "\n", uint8(1))
	f.Add("  a\n\ta\n a  \nb\n", "  a\n\ta\nb\nb\n", uint8(1))
	f.Add("func a() {\n\tx\n}\n\nfunc b() {\n\tx\n}\n", "func a() {\n\ty\n}\n\nfunc b() {\n\tx\n\tz\n}\n", uint8(2))
	f.Fuzz(func(t *testing.T, before, after string, around uint8) {
		if strings.ContainsAny(before+after, "\r\uFEFF") || len(before)+len(after) > 5_000 || around == 0 || around > 10 {
			return
		}
		if strings.HasSuffix("\n"+before, "\n") != strings.HasSuffix("\n"+after, "\n") {
			return // a patch cannot say that the last line end comes or goes
		}
		hunks := hunksOf(t, before, after, int(around))
		got, problem, _ := newDocument(before).applyHunks(hunks)
		switch {
		case problem != "":
			for _, allowed := range []string{"times", "were not found"} {
				if strings.Contains(problem, allowed) {
					return
				}
			}
			t.Fatalf("%q to %q: %s", before, after, problem)
		case got.text != after:
			t.Fatalf("%q to %q with %d lines around: got %q by %+v", before, after, around, got.text, hunks)
		}
	})
}

// The same with texts as they really are: all of it must work.
func TestHunksOfRealFiles(t *testing.T) {
	before := "package a\n\nfunc f1() {\n\treturn\n}\n"
	for i := range 40 {
		before += "\nfunc g" + string(rune('a'+i%26)) + strings.Repeat("x", i) + "() int {\n\tvalue := compute()\n\treturn value\n}\n"
	}
	for name, change := range map[string]func(string) string{
		"names":      func(s string) string { return strings.ReplaceAll(s, "f1", "f2") },
		"some lines": func(s string) string { return strings.Replace(s, "gbx() int {\n", "gbx() int {\n\tprintln()\n", 1) },
		"above all":  func(s string) string { return "// first\n" + s },
		"last line":  func(s string) string { return strings.TrimSuffix(s, "}\n") + "} // last\n" },
		"a function": func(s string) string {
			return strings.Replace(s, "func gcxx() int {\n\tvalue := compute()\n\treturn value\n}\n\n", "", 1)
		},
		"line ends": func(s string) string { return strings.TrimSuffix(s, "}\n") + "\treturn\n}" },
	} {
		after := change(before)
		hunks := hunksOf(t, before, after, 3)
		hunks[len(hunks)-1].atEnd = name == "last line" || name == "line ends"
		got, problem, hint := newDocument(before).applyHunks(hunks)
		if problem != "" || strings.TrimSuffix(got.text, "\n") != strings.TrimSuffix(after, "\n") {
			t.Errorf("%s: %s %s\n%s", name, problem, hint, got.text)
		}
	}
}
