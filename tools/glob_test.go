package tools

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestGlobMatch(t *testing.T) {
	for _, c := range []struct{ pattern, yes, no string }{
		{"*.go", "a.go .go", "a.gox d/a.go"},
		{"a*b*c", "abc axbxc abbc", "ab acb a/b/c"},
		{"src/**/*.go", "src/a.go src/x/y/a.go", "a.go src src/a.py xsrc/a.go"},
		{"**/a", "a x/a x/y/a", "ax xa"},
		{"**/*", "a a/b", ""},
		{"a/**", "a/b a/b/c", "a ab"},
		{"?", "a ż", "ab"},
		{`\*`, "*", "a"},
		{"", "", "a"},
	} {
		for name := range strings.FieldsSeq(c.yes) {
			if !globMatch(c.pattern, name) {
				t.Errorf("%q does not fit %q", c.pattern, name)
			}
		}
		for name := range strings.FieldsSeq(c.no) {
			if globMatch(c.pattern, name) {
				t.Errorf("%q fits %q", c.pattern, name)
			}
		}
	}
}

// The time of a match does not explode with the number of stars.
func TestGlobMatchIsQuick(t *testing.T) {
	begin := time.Now()
	globMatch(strings.Repeat("a*", 500)+"b", strings.Repeat("a", 5_000))
	globMatch(strings.Repeat("**/a/", 200)+"b", strings.Repeat("a/", 1_000)+"c")
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestExpandBraces(t *testing.T) {
	for pattern, want := range map[string]string{
		"*.go":                      "*.go",
		"*.{ts,tsx}":                "*.ts *.tsx",
		"{a,b}/{c,d}":               "a/c a/d b/c b/d",
		"{a,{b,c}d}":                "a bd cd",
		"{a}":                       "{a}",
		"{a,":                       "{a,",
		"a}{b,c}":                   "a}b a}c",
		`\{a,b}`:                    `\{a,b}`,
		"{,x}y":                     "xy y",
		strings.Repeat("{a,b}", 20): strings.Repeat("{a,b}", 20),
	} {
		if got := expandBraces(pattern); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: %v", pattern, got)
		}
	}
}

func TestCheckGlob(t *testing.T) {
	for pattern, good := range map[string]bool{
		"*.go": true, "[a-z]": true, "[]]": true, `\[`: true, `a\`: true, "[": false, "a[b": false, "[]": false, "[!]": false,
	} {
		if err := checkGlob(pattern); (err == nil) != good {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
