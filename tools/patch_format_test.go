package tools

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestParsePatch(t *testing.T) {
	one := func(h hunk) []section {
		return []section{{kind: patchUpdate, path: "f", hunks: []hunk{h}}}
	}
	ab := hunk{old: []string{"a", "b"}, new: []string{"a", "c"}}
	for name, c := range map[string]struct {
		text string
		want []section
	}{
		"everything": {"*** Begin Patch\n*** Update File: a b.go\n*** Move to: c.go\n@@ class X\n@@ def y\n keep\n-old\n+new\n@@\n+end\n*** End of File\n" +
			"*** Add File: d\n+one\n+\n+two\n*** Delete File: e\n*** Move File: f -> g h\n*** End Patch\n",
			[]section{
				{kind: patchUpdate, path: "a b.go", to: "c.go", hunks: []hunk{
					{hints: []string{"class X", "def y"}, old: []string{"keep", "old"}, new: []string{"keep", "new"}},
					{new: []string{"end"}, atEnd: true},
				}},
				{kind: patchAdd, path: "d", text: []string{"one", "", "two"}},
				{kind: patchDelete, path: "e"},
				{kind: patchMove, path: "f", to: "g h"},
			}},
		"no blank before lines that stay": {"*** Begin Patch\n*** Update File: f\na\n-b\n+c\n*** End Patch", one(ab)},
		"no first line":                   {"*** Update File: f\n@@\n a\n-b\n+c\n*** End Patch", one(ab)},
		"fences and talk":                 {"Here it is:\n```diff\n*** Begin Patch\n*** Update File: f\n a\n-b\n+c\n*** End Patch\n```\n", one(ab)},
		"as for a shell":                  {"apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: f\n a\n-b\n+c\n*** End Patch\nEOF\n", one(ab)},
		"other spellings":                 {"***Begin Patch\n*** update file:f\n a\n-b\n+c\n*** END PATCH", one(ab)},
		"CR LF":                           {"*** Begin Patch\r\n*** Update File: f\r\n@@\r\n a\r\n-b\r\n+c\r\n*** End Patch\r\n", one(ab)},
		"numbers of a unified diff":       {"*** Begin Patch\n*** Update File: f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n*** End Patch", one(ab)},
		"numbers and a hint":              {"*** Begin Patch\n*** Update File: f\n@@ -1,2 +1,2 @@ func x() {\n a\n-b\n+c\n*** End Patch", one(hunk{hints: []string{"func x() {"}, old: ab.old, new: ab.new})},
		"hint in signs":                   {"*** Begin Patch\n*** Update File: f\n@@ func x() { @@\n a\n-b\n+c\n*** End Patch", one(hunk{hints: []string{"func x() {"}, old: ab.old, new: ab.new})},
		"blank lines between":             {"*** Begin Patch\n\n*** Update File: f\n\n@@\n a\n\n-b\n+c\n\n*** End Patch", one(hunk{old: []string{"a", "", "b"}, new: []string{"a", "", "c"}})},
		"blank lines in a new file":       {"*** Begin Patch\n*** Add File: f\n+a\n\n+b\n\n\n*** End Patch", []section{{kind: patchAdd, path: "f", text: []string{"a", "", "b"}}}},
		"an empty new file":               {"*** Begin Patch\n*** Add File: f\n*** End Patch", []section{{kind: patchAdd, path: "f"}}},
		"two patches":                     {"*** Begin Patch\n*** Delete File: f\n*** End Patch\n\n*** Begin Patch\n*** Delete File: g\n*** End Patch", []section{{kind: patchDelete, path: "f"}, {kind: patchDelete, path: "g"}}},
		"moved only":                      {"*** Begin Patch\n*** Update File: f\n*** Move to: g\n*** End Patch", []section{{kind: patchUpdate, path: "f", to: "g"}}},
		"signs as text":                   {"*** Begin Patch\n*** Update File: f\n@@\n *** not a header\n--- a\n+++ b\n*** End Patch", one(hunk{old: []string{"*** not a header", "-- a"}, new: []string{"*** not a header", "++ b"}})},
	} {
		got, err := parsePatch(c.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got = withoutLines(got); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s\n got %+v\nwant %+v", name, got, c.want)
		}
	}
}

// withoutLines drops what depends on where a section stands.
func withoutLines(sections []section) []section {
	for i := range sections {
		sections[i].line = 0
		for k := range sections[i].hunks {
			sections[i].hunks[k].line = 0
		}
	}
	return sections
}

func TestParsePatchErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "line 1 of the patch: the patch has no *** Update File, *** Add File, *** Delete File or *** Move File",
		"--- a/f\n+++ b/f": "line 2 of the patch: the patch has no *** Update File, *** Add File, *** Delete File or *** Move File",
		"*** Begin Patch\n*** Update File: f\n@@\n a\n-b":                           "line 5 of the patch: the patch does not end with *** End Patch; it may have been cut off",
		"*** Begin Patch\n*** End Patch":                                            "line 2 of the patch: the patch has no *** Update File, *** Add File, *** Delete File or *** Move File",
		"*** Begin Patch\n*** Begin Patch":                                          "line 2 of the patch: *** Begin Patch within a patch",
		"*** End Patch":                                                             "line 1 of the patch: *** End Patch without *** Begin Patch",
		"*** Begin Patch\n+a\n*** End Patch":                                        "line 2 of the patch: before the first *** Update File, *** Add File, *** Delete File or *** Move File",
		"*** Begin Patch\n*** Change File: f\n*** End Patch":                        "line 2 of the patch: *** Change File: f is no header of a patch",
		"*** Begin Patch\n*** Delete File: f\n*** End Patch\nand more":              "line 4 of the patch: something follows *** End Patch",
		"*** Begin Patch\n*** Delete File: f\n-a\n*** End Patch":                    "line 3 of the patch: *** Delete File has no lines",
		"*** Begin Patch\n*** Add File: f\na\n*** End Patch":                        "line 3 of the patch: each line of an added file begins with +",
		"*** Begin Patch\n*** Update File: f\n*** End Patch":                        "line 2 of the patch: *** Update File: f changes nothing",
		"*** Begin Patch\n*** Update File: f\n@@ x\n a\n*** End Patch":              "line 3 of the patch: nothing is added or removed here; mark lines with + and -",
		"*** Begin Patch\n*** Update File:\n-a\n*** End Patch":                      "line 2 of the patch: *** Update File without a path",
		"*** Begin Patch\n*** Move File: a\n*** End Patch":                          "line 2 of the patch: *** Move File needs two paths: old -> new",
		"*** Begin Patch\n*** Move File: a ->\n*** End Patch":                       "line 2 of the patch: *** Move File needs two paths: old -> new",
		"*** Begin Patch\n*** Move to: a\n*** End Patch":                            "line 2 of the patch: *** Move to outside of an *** Update File",
		"*** Begin Patch\n*** Update File: a\n*** End of File\n*** End Patch":       "line 3 of the patch: *** End of File before any line",
		"*** Begin Patch\n*** Update File: ../a\n-a\n*** End Patch":                 "line 2 of the patch: ../a: .. is not allowed in the paths of a patch",
		"*** Begin Patch\n*** Move File: a -> b/../../c\n*** End Patch":             "line 2 of the patch: b/../../c: .. is not allowed in the paths of a patch",
		"*** Begin Patch\n*** Update File: a\n*** Move to: ..\n-a\n*** End Patch":   "line 2 of the patch: ..: .. is not allowed in the paths of a patch",
		"*** Begin Patch\n*** Delete File: a\n\n*** Add File: b/..\n*** End Patch":  "line 4 of the patch: b/..: .. is not allowed in the paths of a patch",
		"*** Begin Patch\n*** Update File: a..b\n a\n *** End Patch\n*** End Patch": "line 3 of the patch: nothing is added or removed here; mark lines with + and -",
	} {
		if got, err := parsePatch(text); err == nil || err.Error() != want {
			t.Errorf("%q\n got %v %v\nwant %s", text, got, err, want)
		}
	}
}

// What a patch says, written down again, says the same.
func FuzzParsePatch(f *testing.F) {
	f.Add("*** Begin Patch\n*** Update File: a\n*** Move to: c\n@@ class X\n@@ y @@\n keep\n-old\n+new\n\n+more\n@@ -1,2 +3 @@ z\n+end\n*** End of File\n*** Add File: d\n+one\n\n+two\n*** Delete File: e\n*** Move File: f -> g\n*** End Patch\n")
	f.Add("```\n*** update file: x\r\n- \r\n+\r\n\\ No newline\r\n***End Patch\r\nEOF")
	f.Add("*** Begin Patch\n*** Update File: f\n@@\n \n--\n++\n*** End of File\n-x\n*** End Patch")
	f.Fuzz(func(t *testing.T, text string) {
		sections, err := parsePatch(text)
		if err != nil {
			if len(err.Error()) > len(text)+200 {
				t.Fatalf("a message of %d bytes", len(err.Error()))
			}
			return
		}
		again, err := parsePatch(writePatch(sections))
		if err != nil {
			t.Fatalf("%q was read, but not %q: %v", text, writePatch(sections), err)
		}
		if got, want := fmt.Sprintf("%+v", withoutLines(again)), fmt.Sprintf("%+v", withoutLines(sections)); got != want {
			t.Fatalf("%q\n got %s\nwant %s", text, got, want)
		}
	})
}

// writePatch is the reverse of parsePatch.
func writePatch(sections []section) string {
	var b strings.Builder
	b.WriteString("*** Begin Patch\n")
	for _, s := range sections {
		if s.kind == patchMove {
			fmt.Fprintf(&b, "*** Move File: %s -> %s\n", s.path, s.to)
			continue
		}
		fmt.Fprintf(&b, "*** %s File: %s\n", s.kind, s.path)
		if s.to != "" {
			fmt.Fprintf(&b, "*** Move to: %s\n", s.to)
		}
		for _, l := range s.text {
			fmt.Fprintf(&b, "+%s\n", l)
		}
		for _, h := range s.hunks {
			b.WriteString("@@\n")
			for _, hint := range h.hints {
				fmt.Fprintf(&b, "@@ %s\n", hint)
			}
			b.WriteString(writeHunk(h))
			if h.atEnd {
				b.WriteString("*** End of File\n")
			}
		}
	}
	return b.String() + "*** End Patch\n"
}

// writeHunk marks the lines that are the same at the beginning and the end as ones that stay.
func writeHunk(h hunk) string {
	var b strings.Builder
	old, new := h.old, h.new
	for len(old) > 0 && len(new) > 0 && old[0] == new[0] {
		fmt.Fprintf(&b, " %s\n", old[0])
		old, new = old[1:], new[1:]
	}
	for _, l := range old {
		fmt.Fprintf(&b, "-%s\n", l)
	}
	for _, l := range new {
		fmt.Fprintf(&b, "+%s\n", l)
	}
	return b.String()
}
