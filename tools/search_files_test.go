package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// newSearchSession has a small tree with everything in it that a search may meet.
func newSearchSession(t *testing.T) *session {
	s := newSession(t)
	for name, content := range map[string]string{
		"main.go":           "package main\n\nfunc main() {\n\tprintln(\"needle\")\n}\n",
		"src/a.go":          "// needle one\n// needle two\n",
		"src/a.txt":         "needle in text\r\nsecond\r\n",
		"src/deep/b.go":     "nothing here",
		"src/deep/x.tsx":    "needle\n",
		"src/.gitignore":    "*.gen\n!keep.gen\n",
		"src/skip.gen":      "needle\n",
		"src/keep.gen":      "needle\n",
		"src/deep/skip.gen": "needle\n",
		".gitignore":        "node_modules/\n/out\n",
		"node_modules/m.js": "needle\n",
		"out":               "needle\n",
		"src/out":           "needle\n",
		".hidden":           "needle\n",
		".config/x.yaml":    "needle\n",
		".git/config":       "needle\n",
		"binary.bin":        "needle\x00\x01\x02\x03\x04\x05",
		"bom.txt":           "\uFEFFneedle at the start\n",
		"empty.txt":         "",
	} {
		s.write(name, content)
	}
	if err := os.Symlink("main.go", filepath.Join(s.box.Root(), "link.go")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..", filepath.Join(s.box.Root(), "src/loop")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(s.box.Root(), "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSearchFilesResults(t *testing.T) {
	s := newSearchSession(t)
	root := s.box.Root()
	const format = `"matches_format":"grouped by path: the path of a file on a line of its own, then its matches as '  <line>: <content>'"`
	const around = `"matches_format":"grouped by path: the path of a file on a line of its own, then its matches as '  <line>: <content>', lines around them as '  <line>- <content>', and '  --' where lines are left out"`
	for _, c := range []struct{ args, text string }{
		// contents
		{`{"pattern":"needle"}`, `{"total_count":8,` + format + `,"matches_text":"bom.txt\n  1: needle at the start\nmain.go\n  4: \tprintln(\"needle\")\nsrc/a.go\n  1: // needle one\n  2: // needle two\nsrc/a.txt\n  1: needle in text\nsrc/deep/x.tsx\n  1: needle\nsrc/keep.gen\n  1: needle\nsrc/out\n  1: needle"}`},
		{`{"pattern":"needle","target":"grep","limit":2,"offset":1}`, `{"total_count":8,"matches":[{"path":"main.go","line":4,"content":"\tprintln(\"needle\")"},{"path":"src/a.go","line":1,"content":"// needle one"}],"truncated":true,"hint":"Results 2 to 3 of 8; go on with offset=3."}`},
		{`{"pattern":"needle","offset":7}`, `{"total_count":8,"matches":[{"path":"src/out","line":1,"content":"needle"}]}`},
		{`{"pattern":"needle","offset":8}`, `{"total_count":8,"hint":"There are only 8 results."}`},
		{`{"pattern":"^needle (in|at)","path":"src"}`, `{"total_count":1,"matches":[{"path":"src/a.txt","line":1,"content":"needle in text"}]}`},
		{`{"pattern":"text$"}`, `{"total_count":1,"matches":[{"path":"src/a.txt","line":1,"content":"needle in text"}]}`},
		{`{"pattern":"^needle at"}`, `{"total_count":1,"matches":[{"path":"bom.txt","line":1,"content":"needle at the start"}]}`},
		{`{"pattern":"(?i)NEEDLE ONE","path":"` + root + `/src"}`, `{"total_count":1,"matches":[{"path":"` + root + `/src/a.go","line":1,"content":"// needle one"}]}`},
		{`{"pattern":"needle","path":"./src/../main.go"}`, `{"total_count":1,"matches":[{"path":"./src/../main.go","line":4,"content":"\tprintln(\"needle\")"}]}`},
		{`{"pattern":"needle","path":"link.go"}`, `{"total_count":1,"matches":[{"path":"link.go","line":4,"content":"\tprintln(\"needle\")"}]}`},
		{`{"pattern":"needle","path":".hidden"}`, `{"total_count":1,"matches":[{"path":".hidden","line":1,"content":"needle"}]}`},
		{`{"pattern":"needle","path":"node_modules"}`, `{"total_count":1,"matches":[{"path":"node_modules/m.js","line":1,"content":"needle"}]}`},
		{`{"pattern":"needle","path":"src/deep"}`, `{"total_count":1,"matches":[{"path":"src/deep/x.tsx","line":1,"content":"needle"}]}`},
		{`{"pattern":"needle","path":"binary.bin"}`, `{"total_count":0,"warning":"Not searched: 1 binary (files and folders)."}`},
		{`{"pattern":"no such text"}`, `{"total_count":0,"warning":"Not searched: 4 ignored by .gitignore, 5 hidden, 1 binary (files and folders)."}`},
		{`{"pattern":"^$","path":"main.go"}`, `{"total_count":1,"matches":[{"path":"main.go","line":2,"content":""}]}`},
		// chosen files
		{`{"pattern":"needle","file_glob":"*.go","output_mode":"count"}`, `{"total_count":3,"counts":{"main.go":1,"src/a.go":2}}`},
		{`{"pattern":"needle","file_glob":"*.{go,tsx}","output_mode":"files_only"}`, `{"total_count":3,"files":["main.go","src/a.go","src/deep/x.tsx"]}`},
		{`{"pattern":"needle","file_glob":"!*.go","output_mode":"files_only"}`, `{"total_count":5,"files":["bom.txt","src/a.txt","src/deep/x.tsx","src/keep.gen","src/out"]}`},
		{`{"pattern":"needle","file_glob":"deep/*","output_mode":"files_only"}`, `{"total_count":1,"files":["src/deep/x.tsx"]}`},
		{`{"pattern":"needle","file_glob":"/src/*","output_mode":"files_only"}`, `{"total_count":4,"files":["src/a.go","src/a.txt","src/keep.gen","src/out"]}`},
		{`{"pattern":"needle","file_glob":"src/","output_mode":"files_only"}`, `{"total_count":5,"files":["src/a.go","src/a.txt","src/deep/x.tsx","src/keep.gen","src/out"]}`},
		{`{"pattern":"needle","file_glob":".hid*","output_mode":"files_only"}`, `{"total_count":1,"files":[".hidden"]}`},
		{`{"pattern":"needle","file_glob":".config/**","output_mode":"files_only"}`, `{"total_count":1,"files":[".config/x.yaml"]}`},
		{`{"pattern":"needle","output_mode":"count","limit":1,"offset":1}`, `{"total_count":8,"counts":{"main.go":1},"truncated":true,"hint":"Results 2 to 2 of 7; go on with offset=2."}`},
		{`{"pattern":"needle","output_mode":"files_only","limit":1}`, `{"total_count":7,"files":["bom.txt"],"truncated":true,"hint":"Results 1 to 1 of 7; go on with offset=1."}`},
		// lines around
		{`{"pattern":"println","context":1}`, `{"total_count":1,` + around + `,"matches_text":"main.go\n  3- func main() {\n  4: \tprintln(\"needle\")\n  5- }"}`},
		{`{"pattern":"^package|}","path":"main.go","context":1}`, `{"total_count":2,` + around + `,"matches_text":"main.go\n  1: package main\n  2- \n  --\n  4- \tprintln(\"needle\")\n  5: }"}`},
		// names
		{`{"pattern":"*.go","target":"files"}`, `{"total_count":3,"files":["main.go","src/a.go","src/deep/b.go"]}`},
		{`{"pattern":"src/*.go","target":"find"}`, `{"total_count":1,"files":["src/a.go"]}`},
		{`{"pattern":"src/**/*.go","target":"files"}`, `{"total_count":2,"files":["src/a.go","src/deep/b.go"]}`},
		{`{"pattern":"MAIN","target":"files"}`, `{"total_count":1,"files":["main.go"]}`},
		{`{"pattern":".gitignore","target":"files"}`, `{"total_count":2,"files":[".gitignore","src/.gitignore"]}`},
		{`{"pattern":"*","target":"files","path":"src","file_glob":"*.{txt,tsx}"}`, `{"total_count":2,"files":["src/a.txt","src/deep/x.tsx"]}`},
		{`{"pattern":"*","target":"files","limit":1,"offset":2,"path":"src"}`, `{"total_count":6,"files":["src/deep/b.go"],"truncated":true,"hint":"Results 3 to 3 of 6; go on with offset=3."}`},
		{`{"pattern":"m.js","target":"files"}`, `{"total_count":0,"warning":"Not searched: 4 ignored by .gitignore, 5 hidden (files and folders)."}`},
		{`{"pattern":"main.go","target":"files","path":"main.go"}`, `{"total_count":1,"files":["main.go"]}`},
	} {
		r := s.run(searchFiles{}, c.args)
		if r.Text != c.text || !r.Success {
			t.Errorf("%s\n got %s\nwant %s", c.args, r.Text, c.text)
		}
	}
}

func TestSearchFilesErrors(t *testing.T) {
	s := newSearchSession(t)
	for args, want := range map[string]string{
		`{"pattern":""}`:                                     `{"error":"pattern is empty"}`,
		`{"pattern":"a(?=b)"}`:                               `{"error":"pattern is no regular expression in RE2 syntax (which has no look-around and no back-references): invalid or unsupported Perl syntax: ` + "`(?=`" + `"}`,
		`{"pattern":"(a"}`:                                   `{"error":"pattern is no regular expression in RE2 syntax (which has no look-around and no back-references): missing closing ): ` + "`(a`" + `"}`,
		`{"pattern":"(x{1000}){1000}"}`:                      "expression",
		`{"pattern":"a\nb"}`:                                 "line end",
		`{"pattern":"a\\nb"}`:                                "lines are matched one by one",
		`{"pattern":"x","file_glob":"[a"}`:                   `{"error":"file_glob [a: a [ without its ]"}`,
		`{"pattern":"[a","target":"files"}`:                  `{"error":"pattern [a: a [ without its ]"}`,
		`{"pattern":"x","path":"sr"}`:                        `{"error":"Path not found: sr","path":"sr"}`,
		`{"pattern":"x","path":"src/b.go"}`:                  `{"error":"Path not found: src/b.go","path":"src/b.go","similar_files":["src/a.go"]}`,
		`{"pattern":"x","path":"pipe"}`:                      `{"error":"pipe is not a regular file"}`,
		`{"pattern":"x","path":".."}`:                        "outside of the work folder",
		`{"pattern":"root","path":"/etc"}`:                   "outside of the work folder",
		`{"pattern":"x","path":"~"}`:                         "~ is not understood",
		`{"pattern":"x","limit":0}`:                          "at least 1",
		`{"pattern":"x","offset":-1}`:                        "at least 0",
		`{"pattern":"x","target":"names"}`:                   `must be one of \"content\",\"files\",\"grep\",\"find\", not \"names\"`,
		`{"regex":"x"}`:                                      `unknown \"regex\"; missing \"pattern\". Expected: pattern (required), target, path, file_glob, limit, offset, output_mode, context. Given: regex.`,
		`{"pattern":"` + strings.Repeat("(a|b)", 99) + `("}`: "missing closing",
	} {
		r := s.run(searchFiles{}, args)
		if !strings.Contains(r.Text, want) || r.Success {
			t.Errorf("%s\n got %s\nwant %s", args, r.Text, want)
		}
	}
	// These only look like a line end.
	for _, pattern := range []string{`[^\n]*needle`, `\\n`, `\s*needle`, `needle\s`} {
		if r := s.run(searchFiles{}, encode(map[string]string{"pattern": pattern})); !r.Success {
			t.Errorf("%s: %s", pattern, r.Text)
		}
	}
}

func TestSearchFilesLongLines(t *testing.T) {
	s := newSession(t)
	s.write("min.js", strings.Repeat("ż", 1_000)+"needle"+strings.Repeat("x", 3<<20)+"end\nneedle\n")
	s.write("raw", "caf\xe9 needle\n")
	r := s.run(searchFiles{}, `{"pattern":"needle"}`)
	var got struct{ Matches []lineMatch }
	if err := json.Unmarshal([]byte(r.Text), &got); err != nil || len(got.Matches) != 3 {
		t.Fatalf("%v: %.300s", err, r.Text)
	}
	first := got.Matches[0].Content
	if !strings.HasPrefix(first, "…ż") || !strings.Contains(first, "needlexxx") || !strings.HasSuffix(first, "x…") || len(first) > 510 {
		t.Errorf("got %d bytes: %s", len(first), first)
	}
	if got.Matches[1].Line != 2 || got.Matches[2].Content != "caf\uFFFD needle" {
		t.Errorf("got %+v", got.Matches[1:])
	}
	r = s.run(searchFiles{}, `{"pattern":"end$"}`)
	if want := `{"total_count":0,"warning":"Of lines over 1048576 bytes only the beginning was searched."}`; r.Text != want {
		t.Errorf("got %s", r.Text)
	}
}

// Whatever ends a search, the answer is JSON and says what is missing.
func TestSearchFilesLimits(t *testing.T) {
	s := newSession(t)
	for i := range 60 {
		s.write(fmt.Sprintf("d%d/e/f/file%02d.txt", i%3, i), strings.Repeat("some line with enough text\n", 40))
	}
	search := func(args searchArgs, change func(*searchLimits)) map[string]any {
		t.Helper()
		limits := usualSearch
		change(&limits)
		args.Path, args.Pattern = ".", "line"
		r, err := searchWithin(context.Background(), s.call(`{}`), args, limits)
		if err != nil || !r.Success {
			t.Fatalf("%s: %v", r.Text, err)
		}
		checkResult(t, r)
		var got map[string]any
		if err := json.Unmarshal([]byte(r.Text), &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	for name, c := range map[string]struct {
		args   searchArgs
		change func(*searchLimits)
		reason string
	}{
		"time":  {searchArgs{Limit: 5, OutputMode: showLines}, func(l *searchLimits) { l.time = 0 }, "stopped after 0s"},
		"files": {searchArgs{Limit: 5, OutputMode: showLines}, func(l *searchLimits) { l.files = 10 }, "too many files; search in a folder below this one"},
		"depth": {searchArgs{Limit: 5, OutputMode: showLines}, func(l *searchLimits) { l.depth = 2 }, "folders lie too deep within each other at d0/e/f"},
		"count": {searchArgs{Limit: 5, OutputMode: showLines}, func(l *searchLimits) { l.count = 100 }, "stopped counting; a narrower pattern, path or file_glob finds less"},
		"files counted": {searchArgs{Limit: 5, OutputMode: showFiles}, func(l *searchLimits) { l.count = 10 },
			"stopped counting; a narrower pattern, path or file_glob finds less"},
	} {
		got := search(c.args, c.change)
		if got["limit_reason"] != c.reason || got["truncated"] != true || got["total_count_is_lower_bound"] != true {
			t.Errorf("%s: %v", name, got)
		}
	}
	// An answer that gets too long ends at a whole line and says where to go on.
	got := search(searchArgs{Limit: 1000, OutputMode: showLines}, func(l *searchLimits) { l.shown = 1_000 })
	if got["hint"] != "Results 1 to 22 of 2400; go on with offset=22." || got["total_count"] != 2400.0 || got["truncated"] != true || got["limit_reason"] != nil {
		t.Errorf("got %v", got)
	}
	// So do lines around matches.
	got = search(searchArgs{Limit: 1000, Context: 20, OutputMode: showLines}, func(*searchLimits) {})
	if text := got["matches_text"].(string); len(text) > resultLimit*9/10 || got["hint"] == nil {
		t.Errorf("%d bytes, %v", len(text), got["hint"])
	}
}

func TestSearchFilesInterrupted(t *testing.T) {
	s := newSearchSession(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := Run(ctx, searchFiles{}, s.call(`{"pattern":"needle"}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %s, %v", r.Text, err)
	}
}

// What cannot be read is left out and named.
func TestSearchFilesUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	s := newSearchSession(t)
	if err := os.Chmod(filepath.Join(s.box.Root(), "src"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(s.box.Root(), "src"), 0o755)
	if r := s.run(searchFiles{}, `{"pattern":"needle"}`); !strings.Contains(r.Text, "1 not readable") || !r.Success {
		t.Errorf("got %s", r.Text)
	}
}

// The folders around the one that is searched have a say, those outside of the work folder not.
func TestFoldersBetween(t *testing.T) {
	for dir, want := range map[string]string{
		"/w/a/b/c": "/w /w/a /w/a/b", "/w/a": "/w", "/w": "", "/": "", "/v/x": "", "/wa": "",
	} {
		if got := strings.Join(foldersBetween("/w", dir), " "); got != want {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}
