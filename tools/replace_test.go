package tools

import (
	"strings"
	"testing"
	"time"
)

func TestReplace(t *testing.T) {
	for name, c := range map[string]struct{ way, text, old, new, want string }{
		// exact
		"a part of a line":        {"exact", "a = 1\nb = 2\n", "= 2", "= 3", "a = 1\nb = 3\n"},
		"over lines":              {"exact", "a\nb\nc\n", "b\nc", "x\ny\nz", "a\nx\ny\nz\n"},
		"to nothing":              {"exact", "a\nb\nc\n", "b\n", "", "a\nc\n"},
		"blanks alone":            {"exact", "a\n\n\nb\n", "\n\n\n", "\n", "a\nb\n"},
		"a whole file":            {"exact", "a", "a", "b", "b"},
		"exact before alike":      {"exact", "foo( )\nfoo()\n", "foo()", "bar()", "foo( )\nbar()\n"},
		"backslashes in the file": {"exact", `s = "a\n"`, `"a\n"`, `"b\n"`, `s = "b\n"`},
		// line-trimmed
		"blanks at line ends":         {"line-trimmed", "if x:  \n    y\t\n", "if x:\n    y\n", "if x:\n    z\n", "if x:  \n    z\n"},
		"last line without its end":   {"line-trimmed", "a\nb", "a\nb\n", "a\nc\n", "a\nc"},
		"kept lines keep their ends":  {"line-trimmed", "a  \nb  \nc\n", "a\nb\nc", "a\nb\nx", "a  \nb  \nx\n"},
		"model has blanks at the end": {"line-trimmed", "a\nb\n", "a  \nb\n", "a\nc\n", "a\nc\n"},
		// whitespace-normalised
		"runs of blanks":           {"whitespace-normalised", "x  =   1\n", "x = 1", "x = 2", "x = 2\n"},
		"tab for a blank":          {"whitespace-normalised", "x\t= 1\ny\n", "x = 1\ny", "x = 1\nz", "x\t= 1\nz\n"},
		"a part of a line, spaced": {"whitespace-normalised", "call(a,  b);\n", "(a, b)", "(b, a)", "call(b, a);\n"},
		"tabs for blanks":          {"whitespace-normalised", "\tif x {\n\t\ty()\n\t}\n", "    if x {\n        y()\n    }\n", "    if x {\n        y()\n        if z {\n            z()\n        }\n    }\n", "\tif x {\n\t\ty()\n\t\tif z {\n\t\t\tz()\n\t\t}\n\t}\n"},
		"deeper steps":             {"whitespace-normalised", "def f():\n    if x:\n        y\n", "def f():\n  if x:\n    y\n", "def f():\n  if x:\n    y\n    for z in y:\n      z\n", "def f():\n    if x:\n        y\n        for z in y:\n            z\n"},
		// indentation-flexible
		"no indentation":                   {"whitespace-normalised", "class A:\n    def f(self):\n        return 1\n", "def f(self):\n    return 1\n", "def f(self):\n    x = 2\n    return x\n", "class A:\n    def f(self):\n        x = 2\n        return x\n"},
		"too much indentation":             {"indentation-flexible", "def f():\n    return 1\n", "    def f():\n        return 1\n", "    def f():\n        return 2\n", "def f():\n    return 2\n"},
		"one line with indentation":        {"whitespace-normalised", "\treturn 1\n}\n", "    return 1\n", "    x()\n    return 2\n", "\tx()\n\treturn 2\n}\n"},
		"one line, less indented":          {"indentation-flexible", "return 1\n", "    return 1\n", "    x()\n    return 2\n", "x()\nreturn 2\n"},
		"first line alone lacks it":        {"line-trimmed", "    a()\n    b()  \n", "a()\n    b()\n", "a()\n    c()\n", "    a()\n    c()\n"},
		"first line lacks it, new lines":   {"whitespace-normalised", "    if a {\n        b()\n    }\n", "if a {\n       b()\n    }", "if a {\n       b()\n       c()\n    }", "    if a {\n        b()\n        c()\n    }\n"},
		"blank lines stay blank":           {"indentation-flexible", "  a\n\n  b\n", "a\n\nb\n", "a\n\n\nc\n", "  a\n\n\n  c\n"},
		"blank lines with blanks":          {"line-trimmed", "a\n   \nb\n", "a\n\nb\n", "a\n\nc\n", "a\n   \nc\n"},
		"out of the block":                 {"whitespace-normalised", "    if a:\n        b\n", "if a:\n    b\n", "if a:\n    b\nc\n", "    if a:\n        b\n    c\n"},
		"text where nothing was indented":  {"indentation-flexible", "\t\ta\n\t\tb\n", "a\nb", "if x {\n\ta\n\tb\n}", "\t\tif x {\n\t\t\ta\n\t\t\tb\n\t\t}\n"},
		"eight blanks for one tab, deeper": {"whitespace-normalised", "\ta\n\t\tb\n", "        a\n                b\n", "        a\n                b\n                        c\n", "\ta\n\t\tb\n\t\t\tc\n"},
		"blanks for one tab":               {"whitespace-normalised", "\ta(1)\n", "    a(1)\n", "    if a {\n        a(1)\n    }\n", "\tif a {\n\t\ta(1)\n\t}\n"},
		"tabs for blanks in the model":     {"whitespace-normalised", "    a\n    b\n", "\ta\n\tb\n", "\ta\n\tif c {\n\t\tb\n\t}\n", "    a\n    if c {\n        b\n    }\n"},
		"deeper by the same":               {"indentation-flexible", "    a\n    b\n", "a\nb\n", "if c:\n  a\n  b\n", "    if c:\n      a\n      b\n"},
		// escape-normalised
		"line ends as escapes":   {"escape-normalised", "a\nb\nc\n", `a\nb`, `a\nx`, "a\nx\nc\n"},
		"quotes with escapes":    {"escape-normalised", "say(\"hi\")\n", `say(\"hi\")`, `say(\"ho\")`, "say(\"ho\")\n"},
		"quotes alone":           {"escape-normalised", "p(\"a\\n\")\n", `p(\"a\n\")`, `p(\"b\n\")`, "p(\"b\\n\")\n"},
		"escaped twice":          {"escape-normalised", "p(\"a\\n\")\nq\n", `p(\"a\\n\")` + `\nq`, `p(\"b\\n\")` + `\nq`, "p(\"b\\n\")\nq\n"},
		"tabs and single quotes": {"escape-normalised", "\tx = 'a'\n", `\tx = \'a\'`, `\tx = \'b\'`, "\tx = 'b'\n"},
		// trimmed-boundary
		"blank lines around":     {"trimmed-boundary", "x\na\nb\ny\n", "\n\na\nb\n\n", "\n\na\nc\n\n", "x\na\nc\ny\n"},
		"blanks around":          {"trimmed-boundary", "f(a, b)\n", " a, b ", " b, a ", "f(b, a)\n"},
		"blank lines in old":     {"trimmed-boundary", "x\na\nb\ny\n", "\na\nb\n\n", "c\n", "x\nc\ny\n"},
		"blank line before, out": {"trimmed-boundary", "x\na\ny\n", "\n\na\n", "", "x\ny\n"},
		// unicode-normalised
		"typographic quotes":  {"unicode-normalised", "say “hi”\nit’s – well…\n", "say \"hi\"\nit's - well...\n", "say \"hi\"\nit's done\n", "say “hi”\nit's done\n"},
		"no-break spaces":     {"unicode-normalised", "a\u00a0b\nc\n", "a b\nc", "a b\nd", "a\u00a0b\nd\n"},
		"model has the quote": {"unicode-normalised", "x = 'a'\n", "x = ‘a’", "x = ‘b’", "x = ‘b’\n"},
		"invisible character": {"unicode-normalised", "a\u200bb = 1\n", "ab = 1", "ab = 2", "ab = 2\n"},
		"a part with dots":    {"unicode-normalised", "wait… what\n", "wait... what", "go", "go\n"},
		"invalid bytes":       {"unicode-normalised", "caf\xe9\nx\n", "caf\uFFFD\nx", "caf\uFFFD\ny", "caf\xe9\ny\n"},
		// block-anchor
		"middle misremembered": {"block-anchor", "func f() {\n\ta := compute(1)\n\tb := 2\n\treturn a\n}\n", "func f() {\n\ta := compute(2)\n\tb := 2\n\treturn a\n}", "func f() {\n\ta := compute(2)\n\tb := 3\n\treturn a\n}", "func f() {\n\ta := compute(1)\n\tb := 3\n\treturn a\n}\n"},
		"anchors indented":     {"block-anchor", "  begin\n    let one = two + three\n    go\n  end\n", "begin\n  let one = two + four\n  go\nend\n", "begin\n  let one = two + four\n  stop\nend\n", "  begin\n    let one = two + three\n    stop\n  end\n"},
		// context-aware
		"half of the lines": {"context-aware", "import os\nimport sys\n\ndef main():\n    args = parse(sys.argv)\n    run(args)\n    return 0\n", "def main(self):\n    args = parse(sys.argv)\n    run(arg)\n    return 1\n", "def main(self):\n    args = parse(sys.argv)\n    run(arg, 5)\n    return 1\n", "import os\nimport sys\n\ndef main():\n    args = parse(sys.argv)\n    run(arg, 5)\n    return 0\n"},
	} {
		d := newDocument(c.text)
		r, problem, hint := d.replace(c.old, c.new, false)
		if problem != "" {
			t.Errorf("%s: %s: %s", name, problem, hint)
			continue
		}
		if got := d.apply(r.edits).raw; got != c.want || r.way != c.way {
			t.Errorf("%s\n got %s %q\nwant %s %q", name, r.way, got, c.way, c.want)
		}
	}
}

func TestReplaceAll(t *testing.T) {
	for _, c := range []struct{ text, old, new, want string }{
		{"a b a\na", "a", "aa", "aa b aa\naa"},
		{"aaaa", "aa", "b", "bb"},
		{"x  = 1\nx   = 1\n", "x = 1", "y = 1", "y = 1\ny = 1\n"},
		{"f(a,  b) f(a,   b)\n", "f(a, b)", "g", "g g\n"},
		{"\tif a {\n\t}\n\t\tif a {\n\t\t}\n", "  if a {\n  }\n", "  if b {\n    c\n  }\n", "\tif b {\n\t\tc\n\t}\n\t\tif b {\n\t\t\tc\n\t\t}\n"},
		{"“a”\n“a”\n", `"a"`, `"b"`, "\"b\"\n\"b\"\n"},
	} {
		d := newDocument(c.text)
		r, problem, _ := d.replace(c.old, c.new, true)
		if got := d.apply(r.edits).raw; got != c.want || problem != "" {
			t.Errorf("%q for %q in %q: %q %s, want %q", c.new, c.old, c.text, got, problem, c.want)
		}
	}
}

func TestReplaceProblems(t *testing.T) {
	block := func(a, b string) string {
		return "func f() {\n\tfirst := " + a + "\n\tsecond := compute()\n\tthird := " + b + "\n}\n"
	}
	for name, c := range map[string]struct {
		text, old, new string
		all            bool
		problem, hint  string
	}{
		"not there":            {"alpha\nbeta\n", "gamma", "x", false, "old_string was not found", "Nothing in the file is like it; read the file and copy the text from it."},
		"nearly there":         {"one\nvalue = compute(1, 2)\nthree\n", "value = compute(1, 3)\nfour", "x", false, "old_string was not found", "The nearest text, as read_file shows it:\n2|value = compute(1, 2)\n3|three"},
		"done before":          {"a\nnew text\n", "old text here", "new text", false, "old_string was not found", "The new text is in the file already, at line 2."},
		"with numbers":         {"a\nb\n", "1|a\n2|b", "c", false, "old_string was not found", "The lines looked for begin with the numbers that read_file shows; leave them out."},
		"several":              {"a\nb\na\na\n", "a", "c", false, "old_string occurs 3 times (lines 1, 3, 4)", "Give more of the lines around the one that is meant, or set replace_all to change them all."},
		"very many":            {strings.Repeat("a\n", 99), "a", "c", false, "old_string occurs 99 times (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …)", "Give more of the lines around the one that is meant, or set replace_all to change them all."},
		"several, spaced":      {"x  = 1\ny\nx   = 1\n", "x = 1", "c", false, "old_string occurs 2 times (lines 1, 3)", "Give more of the lines around the one that is meant, or set replace_all to change them all."},
		"several blank lines":  {"a\n\nb\n\n", "\n\n", "\n", false, "old_string occurs 2 times (lines 1, 3)", "Give more of the lines around the one that is meant, or set replace_all to change them all."},
		"on each other":        {"x\nx\nx\n", "x\nx\n", "y\n", false, "old_string occurs 2 times (lines 1, 2)", "Give more of the lines around the one that is meant, or set replace_all to change them all."},
		"blanks, none there":   {"a\nb\n", "\n\n\n", "", false, "old_string was not found", "Nothing in the file is like it; read the file and copy the text from it."},
		"inside a word":        {"exit = 1\n", " x ", " y ", false, "old_string was not found", "Nothing in the file is like it; read the file and copy the text from it."},
		"half a sign":          {"wait… what\n", "wait..", "go", false, "old_string was not found", "Nothing in the file is like it; read the file and copy the text from it."},
		"two blocks alike":     {block("one()", "two()") + block("one()", "two()"), block("onE()", "two()"), "x", true, "old_string was not found, and 2 parts are much like it (lines 1, 6)", "Copy one of them exactly, with more of the lines around it."},
		"would remove another": {"func f() {\n\ta := 1\n\tb := 2\n\tc := dropDatabase()\n}\n", "func f() {\n\ta := 1\n\tb := 2\n\tlog(\"x\")\n}\n", "func f() {\n\ta := 1\n\tb := 2\n}\n", false, "old_string was not found", "The nearest text, as read_file shows it:\n1|func f() {\n2|\ta := 1\n3|\tb := 2\n4|\tc := dropDatabase()\n5|}"},
		"too little alike":     {"func f() {\n\tone\n\ttwo\n}\n", "func f() {\n\tcompletely\n\tdifferent\n}\n", "x", false, "old_string was not found", "The nearest text, as read_file shows it:\n1|func f() {\n2|\tone\n3|\ttwo\n4|}"},
		"a stray backslash":    {"func f() {\n\tsay(\"hi\", 1)\n\tgo(1)\n\tstop(1)\n}\n", "func f() {\n\tsay(\\\"hi\\\", 1)\n\tgo(2)\n\tstop(1)\n}\n", "func f() {\n\tsay(\\\"ho\\\", 1)\n\tgo(2)\n\tstop(1)\n}\n", false, `the old and the new text hold \", but the file has no backslash there; write both as the file is`, ""},
		"an empty file":        {"", "a", "b", false, "old_string was not found", "Nothing in the file is like it; read the file and copy the text from it."},
	} {
		_, problem, hint := newDocument(c.text).replace(c.old, c.new, c.all)
		if problem != c.problem || hint != c.hint {
			t.Errorf("%s\n got %s | %s\nwant %s | %s", name, problem, hint, c.problem, c.hint)
		}
	}
}

// All that a change does not touch keeps its bytes: line ends, byte order mark, the end of the file.
func TestReplaceKeepsLineEnds(t *testing.T) {
	for _, c := range []struct{ text, old, new, want string }{
		{"a\r\nb\r\n", "a\nb", "a\nx\ny", "a\r\nx\r\ny\r\n"},
		{"a\r\nb\r\n", "a\r\nb", "a\r\nx\r\ny", "a\r\nx\r\ny\r\n"},
		{"a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n"},
		{"a\nb\n", "a\r\nb\r\n", "a\r\nx\r\ny\r\n", "a\nx\ny\n"},
		{"a\r\nb\nc\r\n", "b", "x\ny", "a\r\nx\ny\nc\r\n"},
		{"a\r\nb\nc\r\n", "a\nb\nc", "a\nb\nx\ny", "a\r\nb\nx\r\ny\r\n"},
		{"a\r\nb", "b", "x\ny", "a\r\nx\r\ny"},
		{"a\r\nb", "a\n", "", "b"},
		{"a\r\nb\r\n", "\nb", "", "a\r\n"},
		{"\uFEFFa\r\nb", "a", "\nx", "\uFEFF\r\nx\r\nb"},
		{"\uFEFFa", "a", "b", "\uFEFFb"},
		{"a\nb\n", "a\n", "a\r\n", "a\r\nb\n"},
		{"a\r\nb\r\n", "a\r\n", "a\n", "a\nb\r\n"},
		{"a  \r\n b\r\n", "a\nb\n", "a\nc\n", "a  \r\n c\r\n"},
		{"a\rb\r\n", "a\rb", "c", "c\r\n"},
		{"\r\n\r\nx", "\n\n", "\n", "\r\nx"},
	} {
		d := newDocument(c.text)
		r, problem, hint := d.replace(c.old, c.new, false)
		if got := d.apply(r.edits).raw; got != c.want || problem != "" {
			t.Errorf("%q for %q in %q\n got %q %s %s\nwant %q", c.new, c.old, c.text, got, problem, hint, c.want)
		}
	}
}

// A search for what is not there ends soon, however large the file and however alike its lines.
func TestReplaceIsQuick(t *testing.T) {
	for name, c := range map[string]struct{ text, old string }{
		"one long line":   {strings.Repeat("a b ", 1<<17), "a  b  c"},
		"equal lines":     {strings.Repeat("x = compute(1)\n", 20_000), strings.Repeat("x = compute(1)\n", 100) + "y\n"},
		"like lines":      {strings.Repeat("some_value = compute(1, 2, 3)\n", 8_000), strings.Repeat("some_value = compute(1, 2, 4)\n", 200) + "y\n"},
		"many anchors":    {strings.Repeat("{\nabcdefgh\n}\n", 15_000), "{\nabcdefgi\n}\n"},
		"blank lines":     {strings.Repeat("\n", 1<<17), "a\n" + strings.Repeat("\n", 1_000) + "a"},
		"very long lines": {strings.Repeat(strings.Repeat("ab", 5_000)+"\n", 100), strings.Repeat(strings.Repeat("ab", 5_000)+"c\n", 5)},
	} {
		begin := time.Now()
		if _, problem, _ := newDocument(c.text).replace(c.old, "new", false); problem == "" {
			t.Errorf("%s: found", name)
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("%s: took %v", name, took)
		} else {
			t.Logf("%s: %v", name, took)
		}
	}
}

// So does a change in very many places of one line.
func TestReplaceAllIsQuick(t *testing.T) {
	d := newDocument(strings.Repeat("ab ", 1<<19))
	begin := time.Now()
	r, problem, _ := d.replace("ab", "c", true)
	if got := d.apply(r.edits).raw; problem != "" || got != strings.Repeat("c ", 1<<19) {
		t.Errorf("got %d bytes, %s", len(got), problem)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

// A change either fails or is made exactly: nothing else moves.
func FuzzReplace(f *testing.F) {
	f.Add("a\r\n  b\n\tc", "b\nc", "b\nd", false)
	f.Add("\uFEFF“a”\n\n  x  = 1\n", "\n \"a\"\n\nx = 1", "x = 2\n", true)
	f.Add("f {\n one two\n three\n}\n", "f {\n one tw0\n three\n}", "f {\n}", false)
	f.Add("say(\"a\\n\")\n", `say(\"a\\n\")\n`, `say(\"b\")`, false)
	f.Add("  a\n    b\n", "a\n  b\n", "a\n  c\n    d\ne\n", true)
	f.Add("a…\u200bb\xff\n", "a...b\uFFFD\n", "", false)
	f.Fuzz(func(t *testing.T, text, old, new string, all bool) {
		if len(text)+len(old)+len(new) > 20_000 {
			return
		}
		d := newDocument(text)
		r, problem, _ := d.replace(old, new, all)
		if problem != "" {
			if len(r.edits) > 0 {
				t.Fatalf("edits in spite of %s", problem)
			}
			return
		}
		got := d.apply(r.edits)
		c, literal := d.changeOf(old, new)
		if r.way == "exact" && !literal && !strings.Contains(text+new, "\r") {
			n := 1
			if all {
				n = -1
			}
			if want := strings.Replace(d.text, c.old, c.new, n); got.text != newDocument(want).text {
				t.Fatalf("got %q, want %q", got.text, want)
			}
		}
		checkOnlyReplaced(t, d, got, locate(d.text, c), literal)
	})
}

// checkOnlyReplaced takes the new text apart: outside of the places that were found it is the old
// one; inside, each line comes from what was there or from what was to be written.
func checkOnlyReplaced(t *testing.T, before, after document, p place, literal bool) {
	rest := after.raw
	last := 0
	var known []string
	for _, text := range []string{p.as.new, p.as.old} {
		known = append(known, strings.Split(text, "\n")...)
	}
	for i, s := range disjoint(p.spans) {
		if s.start < last || s.end > len(before.text) {
			t.Fatalf("spans overlap or leave the text: %v", p.spans)
		}
		gap := before.raw[before.place(last):before.place(s.start)]
		if i == 0 {
			gap = before.raw[:before.place(s.start)]
		}
		if !strings.HasPrefix(rest, gap) {
			t.Fatalf("%q became %q: changed before %v", before.raw, after.raw, s)
		}
		rest = rest[len(gap):]
		with := carry(p.as, before.text[s.start:s.end])
		for line := range strings.SplitSeq(with, "\n") {
			there := strings.Split(before.text[s.start:s.end], "\n")
			if !containsTrimmed(known, line) && !containsTrimmed(there, line) {
				t.Fatalf("%q came from nowhere: %q for %q in %q", line, p.as.new, p.as.old, before.text)
			}
		}
		written, ok := cutWritten(rest, with, literal)
		if !ok {
			t.Fatalf("%q became %q: no %q after %v", before.raw, after.raw, with, s)
		}
		rest = written
		last = s.end
	}
	if tail := before.raw[before.place(last):]; rest != tail {
		t.Fatalf("%q became %q: changed after the last place", before.raw, after.raw)
	}
}

// cutWritten cuts a text from the beginning of another whose line ends may have a CR.
func cutWritten(s, text string, literal bool) (string, bool) {
	for i := range len(text) {
		if text[i] == '\n' && !literal && strings.HasPrefix(s, "\r\n") {
			s = s[1:]
		}
		if s == "" || s[0] != text[i] {
			return s, false
		}
		s = s[1:]
	}
	return s, true
}

func containsTrimmed(list []string, line string) bool {
	for _, l := range list {
		if strings.TrimSpace(l) == strings.TrimSpace(line) {
			return true
		}
	}
	return false
}
