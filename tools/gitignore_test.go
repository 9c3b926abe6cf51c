package tools

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hermes-batch/testdata/machine"
)

func TestIgnored(t *testing.T) {
	for _, c := range []struct{ rules, yes, no string }{
		{"*.log", "a.log d/a.log .log", "a.log.txt log"},
		{"build", "build build/ d/build x/build/", "builds"},
		{"build/", "build/ d/build/", "build d/build"},
		{"/build", "build build/", "d/build"},
		{"a/b", "a/b a/b/", "x/a/b a/b/c a"},
		{"/a/*.go", "a/x.go", "a/b/x.go b/a/x.go"},
		{"**/x", "x d/x d/e/x", "xx"},
		{"d/**", "d/x d/e/x", "d d/ e/d/x"},
		{"a/**/b", "a/b a/x/b a/x/y/b", "ab a/xb b"},
		{"a/**/**/b", "a/b a/x/b", "b"},
		{"**", "a a/b", ""},
		{"*\n!keep*\nkeep.not", "a keep.not", "keep keeper d/keep"},
		{"!a\na", "a", "b"},
		{"a\n!a", "", "a"},
		{"#a\n\\#b\n\\!c", "#b !c", "#a a b c"},
		{"a  \nb\\ \n c", "a", "b c"},
		{"?a", "xa źa", "a xxa"},
		{"[a-c]x\n[!a]y\n[^b]z", "ax cx by az", "dx ay bz"},
		{"[]a]1\n[a\\]]2\n[a-]3\n[[:digit:]]4", "]1 a1 ]2 -3 94", "b1 b3 x4"},
		{"[a\nx[", "", "a [a x["},
		{"\\*\n\\a\nz\\", "* a", "x z z\\"},
		{"foo**bar", "foobar fooxbar", "foo/bar foo/x/bar"},
		{"\uFEFFfirst\r\nsecond\r\n", "first second", "third"},
		{"", "", "a"},
		{"/\n//\n!", "", "a"},
	} {
		list := []ignoreList{{"/w", parseIgnore(c.rules)}}
		check := func(names string, want bool) {
			for name := range strings.FieldsSeq(names) {
				clean, folder := strings.CutSuffix(name, "/")
				if got := ignored(list, "/w/"+clean, folder); got != want {
					t.Errorf("%q ignores %s: %v", c.rules, name, got)
				}
			}
		}
		check(c.yes, true)
		check(c.no, false)
	}
}

// The rules of a folder go before those of the folders around it.
func TestIgnoredByNestedFiles(t *testing.T) {
	lists := []ignoreList{
		{"/w", parseIgnore("*.log\n/top\nsub/secret")},
		{"/w/sub", parseIgnore("!keep.log\n/own\n*.tmp")},
	}
	for name, want := range map[string]bool{
		"/w/sub/a.log": true, "/w/sub/keep.log": false, "/w/sub/x/keep.log": false, "/w/sub/top": false,
		"/w/sub/own": true, "/w/sub/x/own": false, "/w/sub/x/a.tmp": true, "/w/sub/secret": true, "/w/sub/x/secret": false,
	} {
		if got := ignored(lists, name, false); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// git itself says what a gitignore file means.
func TestIgnoredAsGitDoes(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		machine.Lacks(t, "no git to compare with")
	}
	dir := t.TempDir()
	run := func(stdin string, args ...string) string {
		cmd := exec.Command(git, args...)
		cmd.Dir = dir
		cmd.Env = []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "HOME=" + dir, "PATH=" + os.Getenv("PATH")}
		cmd.Stdin = strings.NewReader(stdin)
		var out, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &stderr
		if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 {
			t.Fatalf("git %v: %v: %s", args, err, stderr.String())
		}
		return out.String()
	}
	run("", "init", "-q")
	pieces := strings.Split(`a b ab c * ? ** / / . [ab] [!a] [a-c] \a \* x b`, " ")
	names := strings.Split(`a b c ab ba abc a.b .a *`, " ")
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		var rules, paths strings.Builder
		for range 1 + random.IntN(4) {
			rules.WriteString([]string{"", "", "!"}[random.IntN(3)])
			for range 1 + random.IntN(5) {
				rules.WriteString(pieces[random.IntN(len(pieces))])
			}
			rules.WriteString([]string{"", "", "/"}[random.IntN(3)] + "\n")
		}
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(rules.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		asked := make(map[string]bool)
		for range 60 {
			var elements []string
			for range 1 + random.IntN(3) {
				elements = append(elements, names[random.IntN(len(names))])
			}
			if path := strings.Join(elements, "/"); !asked[path] {
				asked[path] = true
				fmt.Fprintf(&paths, "%s\x00", path)
			}
		}
		answer := run(paths.String(), "check-ignore", "-z", "--stdin", "--no-index", "--non-matching", "--verbose")
		fields := strings.Split(answer, "\x00")
		list := []ignoreList{{dir, parseIgnore(rules.String())}}
		for i := 0; i+3 < len(fields); i += 4 {
			path := fields[i+3]
			want := fields[i+2] != "" && !strings.HasPrefix(fields[i+2], "!")
			if got := ignoredBelow(list, dir, path); got != want {
				t.Errorf("rules %q, path %s: %v, git says %v (%q)", rules.String(), path, got, want, fields[i+2])
			}
		}
	}
}

// ignoredBelow asks for the folders above a path first, as a walk does. None of the files exist,
// so that git takes the last element for a file.
func ignoredBelow(lists []ignoreList, dir, path string) bool {
	elements := strings.Split(path, "/")
	for i := range elements {
		if ignored(lists, dir+"/"+strings.Join(elements[:i+1], "/"), i < len(elements)-1) {
			return true
		}
	}
	return false
}

func FuzzIgnored(f *testing.F) {
	f.Add("*.log\n!a/**/b\n[!x]\\ \n/**/", "a/b/c.log")
	f.Add("[[:alpha:]-\\]]*?**", "x")
	f.Add("**/**/**/**/a*a*a*a*b", "a/a/a/a/aaaaaaaaaaaaaaaaaaaaa")
	f.Add("[\n\\\n[a-\n!", "[")
	f.Fuzz(func(t *testing.T, rules, path string) {
		path = strings.Trim(filepath.Clean("/"+path), "/")
		if path == "" || len(rules) > 2_000 || len(path) > 2_000 {
			return
		}
		list := []ignoreList{{"/w", parseIgnore(rules)}}
		got := ignored(list, "/w/"+path, false)
		// What one last rule says is final, whatever stands before it.
		literal := escapeGlob(path)
		if !strings.ContainsAny(path, "\n\r") && !strings.HasSuffix(path, " ") {
			for _, keep := range []string{"", "!"} {
				list[0].rules = parseIgnore(rules + "\n" + keep + "/" + literal)
				if ignored(list, "/w/"+path, false) != (keep == "") {
					t.Fatalf("%q does not decide about %q", keep+"/"+literal, path)
				}
			}
		}
		// A folder's file says the same wherever the folder lies.
		moved := []ignoreList{{"/other/place", parseIgnore(rules)}}
		if ignored(moved, "/other/place/"+path, false) != got {
			t.Fatalf("%q and %q: another answer in another folder", rules, path)
		}
	})
}

// escapeGlob writes a pattern that fits one name alone.
func escapeGlob(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if strings.IndexByte(`*?[]\!# `, c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}
