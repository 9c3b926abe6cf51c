package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every claim of SECURITY.md is held by tests, and they exist.
func TestSecurityNamesItsTests(t *testing.T) {
	page := string(mustReadFile(t, "SECURITY.md"))
	_, defended, found := strings.Cut(page, "\n## What is defended\n")
	defended, _, ends := strings.Cut(defended, "\n## What is not defended\n")
	if !found || !ends {
		t.Fatal("a heading is missing")
	}
	tests, named := testNames(t), regexp.MustCompile("`((?:Test|Fuzz)\\w+|\\w+\\.txtar)`")
	claims := regexp.MustCompile(`(?m)^\| [^|]+ \| (.+) \|$`).FindAllStringSubmatch(strings.ReplaceAll(defended, "| claim | held by |\n", ""), -1)
	for _, claim := range claims {
		names := named.FindAllStringSubmatch(claim[1], -1)
		if len(names) == 0 {
			t.Errorf("nothing holds: %s", claim[0])
		}
		for _, name := range names {
			if !tests[name[1]] {
				t.Errorf("there is no %s", name[1])
			}
		}
	}
	if len(claims) < 20 {
		t.Errorf("there are only %d claims", len(claims))
	}
}

// testNames are the names of all tests, fuzz tests and scripts.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			for _, name := range function.FindAllStringSubmatch(string(text), -1) {
				names[name[1]] = true
			}
			return err
		case filepath.Dir(path) == filepath.Join("testdata", "script"):
			names[entry.Name()] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// SECURITY.md gives a reason for each module that go.mod asks for, and for no
// other.
func TestDependenciesHaveReasons(t *testing.T) {
	required := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(string(mustReadFile(t, "go.mod")), -1) {
		required[m[1]] = true
	}
	_, page, found := strings.Cut(string(mustReadFile(t, "SECURITY.md")), "\n## Dependencies\n")
	explained := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| .+ \\|$").FindAllStringSubmatch(page, -1) {
		explained[m[1]] = true
	}
	if !found || len(required) == 0 || !maps.Equal(required, explained) {
		t.Errorf("go.mod requires %q\nSECURITY.md explains %q", slices.Sorted(maps.Keys(required)), slices.Sorted(maps.Keys(explained)))
	}
}
