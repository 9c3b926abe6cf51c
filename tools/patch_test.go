package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes-batch/tools/sandbox"
)

func replaceArgs(path, old, new string) string {
	return encode(map[string]string{"mode": "replace", "path": path, "old_string": old, "new_string": new})
}

func patchText(lines ...string) string {
	return encode(map[string]string{"mode": "patch", "patch": "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch\n"})
}

func TestPatchReplaceResults(t *testing.T) {
	s := newSession(t)
	root := s.box.Root()
	for _, c := range []struct{ args, text, status, file string }{
		{replaceArgs("a.txt", "two", "2"), `{"success":true,"diff":"--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n","files_modified":["` + root + `/a.txt"],"resolved_path":"` + root + `/a.txt"}`, StatusOK, "one\n2\nthree\n"},
		{`{"path":"a.txt","old_string":"two","new_string":"2"}`, `{"success":true,"diff":"--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n","files_modified":["` + root + `/a.txt"],"resolved_path":"` + root + `/a.txt"}`, StatusOK, "one\n2\nthree\n"},
		{`{"path":"` + root + `/a.txt","old_string":"e","new_string":"E","replace_all":"true"}`, `{"success":true,"diff":"--- a/` + root + `/a.txt\n+++ b/` + root + `/a.txt\n@@ -1,3 +1,3 @@\n-one\n+onE\n two\n-three\n+thrEE\n","files_modified":["` + root + `/a.txt"],"replacements":3,"resolved_path":"` + root + `/a.txt"}`, StatusOK, "onE\ntwo\nthrEE\n"},
		{replaceArgs("a.txt", "  one\n  two", "  1\n  two"), `{"success":true,"diff":"--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n-one\n+1\n two\n three\n","files_modified":["` + root + `/a.txt"],"match":"indentation-flexible","resolved_path":"` + root + `/a.txt"}`, StatusOK, "1\ntwo\nthree\n"},
		{replaceArgs("a.txt", "one\n", ""), `{"success":true,"diff":"--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,2 @@\n-one\n two\n three\n","files_modified":["` + root + `/a.txt"],"resolved_path":"` + root + `/a.txt"}`, StatusOK, "two\nthree\n"},

		{replaceArgs("a.txt", "four", "4"), `{"success":false,"error":"a.txt: old_string was not found","hint":"Nothing in the file is like it; read the file and copy the text from it."}`, StatusError, ""},
		{replaceArgs("a.txt", "e", "E"), `{"success":false,"error":"a.txt: old_string occurs 3 times (lines 1, 3, 3)","hint":"Give more of the lines around the one that is meant, or set replace_all to change them all."}`, StatusError, ""},
		{replaceArgs("a.txt", "one", "one"), `{"success":false,"error":"old_string and new_string are the same"}`, StatusError, ""},
		{replaceArgs("a.txt", "", "x"), `{"success":false,"error":"old_string is empty","hint":"Use write_file to write a whole file."}`, StatusError, ""},
		{replaceArgs("a.txt", " one", "\tone"), `{"success":false,"error":"a.txt: the file would stay as it is: what new_string changes is not in it"}`, StatusError, ""},
		{replaceArgs("b.txt", "one", "1"), `{"success":false,"error":"File not found: b.txt","similar_files":["a.txt"]}`, StatusError, ""},
		{replaceArgs("dir", "one", "1"), `{"success":false,"error":"This is a folder, not a file: dir"}`, StatusError, ""},
		{replaceArgs("", "one", "1"), `{"success":false,"error":"path is empty"}`, StatusError, ""},
		{replaceArgs("bin", "one", "1"), `{"success":false,"error":"This is a binary file, which cannot be changed in parts: bin"}`, StatusError, ""},
		{replaceArgs("../nonce", "one", "1"), `{"success":false,"error":"../nonce is outside of the work folder; paths must lie inside ` + root + `"}`, StatusError, ""},
		{replaceArgs("/etc/passwd", "root", "x"), `{"success":false,"error":"/etc/passwd is outside of the work folder; paths must lie inside ` + root + `"}`, StatusError, ""},

		{`{"path":"a.txt","old_string":"x"}`, `{"error":"bad arguments for patch in mode replace: missing \"new_string\". Expected: mode, path (required), old_string (required), new_string (required), replace_all. Given: path, old_string."}`, StatusBadArguments, ""},
		{`{}`, `{"error":"bad arguments for patch in mode replace: missing \"path\"; missing \"old_string\"; missing \"new_string\". Expected: mode, path (required), old_string (required), new_string (required), replace_all. Given: nothing."}`, StatusBadArguments, ""},
		{`{"mode":"patch","path":"a.txt"}`, `{"error":"bad arguments for patch in mode patch: missing \"patch\". Expected: mode, patch (required). Given: path."}`, StatusBadArguments, ""},
		{`{"mode":"append","path":"a.txt"}`, `{"error":"bad arguments for patch: \"mode\" must be one of \"replace\",\"patch\", not \"append\". Expected: mode, path, old_string, new_string, replace_all, patch. Given: mode, path."}`, StatusBadArguments, ""},
		{`{"path":"a.txt","old_str":"one","new_str":"1"}`, `{"error":"bad arguments for patch: unknown \"old_str\"; unknown \"new_str\". Expected: mode, path, old_string, new_string, replace_all, patch. Given: path, old_str, new_str."}`, StatusBadArguments, ""},
	} {
		s.write("a.txt", "one\ntwo\nthree\n")
		s.write("dir/x", "x")
		s.write("bin", "one\x00\x01\x02")
		r := s.run(patch{}, c.args)
		if r.Text != c.text || r.Status != c.status {
			t.Errorf("%s\n got %s %s\nwant %s %s", c.args, r.Status, r.Text, c.status, c.text)
		}
		want := c.file
		if want == "" {
			want = "one\ntwo\nthree\n"
		}
		if got := s.read("a.txt"); got != want {
			t.Errorf("%s: the file is %q, want %q", c.args, got, want)
		}
	}
}

// files lists all files of the work folder with their contents.
func (s *session) files() map[string]string {
	s.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(s.box.Root(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(s.box.Root(), path)
		data, err := os.ReadFile(path)
		files[name] = string(data)
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	return files
}

func TestPatchSeveralFiles(t *testing.T) {
	s := newSession(t)
	root := s.box.Root()
	s.write("a.go", "package a\n\nfunc one() {\n\treturn 1\n}\n\nfunc two() {\n\treturn 1\n}\n")
	s.write("b.txt", "x\r\ny")
	s.write("c.txt", "gone\n")
	s.write("d.sh", "echo d\n")
	s.write("bin", "\x00\x01\x02")
	if err := os.Chmod(filepath.Join(root, "d.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := s.run(patch{}, patchText(
		"*** Update File: a.go",
		"@@ func two() {",
		"-\treturn 1",
		"+\treturn 2",
		" }",
		"+",
		"+func three() {}",
		"*** Update File: b.txt",
		"@@",
		" x",
		"+between",
		" y",
		"*** Add File: new/e.txt",
		"+first",
		"+",
		"+last",
		"*** Delete File: c.txt",
		"*** Update File: d.sh",
		"*** Move to: bin/../bin2/d.sh",
		"-echo d",
		"+echo D",
	))
	if r.Success || !strings.Contains(r.Text, ".. is not allowed") {
		t.Errorf("got %s", r.Text)
	}
	r = s.run(patch{}, patchText(
		"*** Update File: a.go",
		"@@ func two() {",
		"-\treturn 1",
		"+\treturn 2",
		" }",
		"+",
		"+func three() {}",
		"*** Update File: b.txt",
		"@@",
		" x",
		"+between",
		" y",
		"*** Add File: new/e.txt",
		"+first",
		"+",
		"+last",
		"*** Delete File: c.txt",
		"*** Update File: d.sh",
		"*** Move to: bin2/d.sh",
		"-echo d",
		"+echo D",
		"*** Move File: bin -> bin2/data",
	))
	want := `{"success":true,"diff":` + encode(
		"--- a/a.go\n+++ b/a.go\n@@ -5,5 +5,7 @@\n }\n \n func two() {\n-\treturn 1\n+\treturn 2\n }\n+\n+func three() {}\n"+
			"--- a/b.txt\n+++ b/b.txt\n@@ -1,2 +1,3 @@\n x\n+between\n y\n\\ No newline at end of file\n"+
			"--- /dev/null\n+++ b/new/e.txt\n@@ -0,0 +1,3 @@\n+first\n+\n+last\n"+
			"--- a/c.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"+
			"--- a/d.sh\n+++ b/bin2/d.sh\n@@ -1 +1 @@\n-echo d\n+echo D\n"+
			"rename from bin\nrename to bin2/data\n") +
		fmt.Sprintf(`,"files_modified":["%s/a.go","%s/b.txt"],"files_created":["%s/new/e.txt","%s/bin2/d.sh","%s/bin2/data"],"files_deleted":["%s/c.txt","%s/d.sh","%s/bin"]}`,
			root, root, root, root, root, root, root, root)
	if r.Text != want || !r.Success {
		t.Errorf("got %s\nwant %s", r.Text, want)
	}
	wantFiles := map[string]string{
		"a.go":  "package a\n\nfunc one() {\n\treturn 1\n}\n\nfunc two() {\n\treturn 2\n}\n\nfunc three() {}\n",
		"b.txt": "x\r\nbetween\r\ny", "new/e.txt": "first\n\nlast\n", "bin2/d.sh": "echo D\n", "bin2/data": "\x00\x01\x02",
	}
	if got := s.files(); encode(got) != encode(wantFiles) {
		t.Errorf("got %q\nwant %q", got, wantFiles)
	}
	if st, err := os.Stat(filepath.Join(root, "bin2/d.sh")); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}

// If one section cannot be made, none is.
func TestPatchAllOrNothing(t *testing.T) {
	s := newSession(t)
	s.write("a.txt", "one\ntwo\none\n")
	s.write("b.txt", "x\n")
	s.write("dir/c.txt", "c\n")
	s.write("bin", "\x00\x01")
	if err := os.Symlink("/etc/passwd", filepath.Join(s.box.Root(), "out")); err != nil {
		t.Fatal(err)
	}
	before := encode(s.files())
	for name, c := range map[string]struct{ section, want string }{
		"not found":       {"*** Update File: b.txt\n-y\n+z", `{"success":false,"error":"b.txt: hunk 1 (line 5 of the patch): its lines were not found","hint":"Nothing was changed. Nothing in the file is like it; read the file and copy the text from it."}`},
		"hint not found":  {"*** Update File: b.txt\n@@ func y\n-y\n+z", `its lines were not found, and neither was @@ func y`},
		"several places":  {"*** Update File: a.txt\n-one\n+1", `{"success":false,"error":"a.txt: hunk 1 (line 5 of the patch): its lines occur 2 times (lines 1, 3)","hint":"Nothing was changed. Give more of the lines around it, or @@ with a line above it."}`},
		"a part of lines": {"*** Update File: b.txt\n-\n+y", `were not found`},
		"second hunk":     {"*** Update File: a.txt\n@@\n-two\n+2\n@@\n-three\n+3", `hunk 2 (line 8 of the patch)`},
		"missing":         {"*** Update File: c.txt\n-c\n+d", `{"success":false,"error":"File not found: c.txt","similar_files":["a.txt","b.txt"],"hint":"Nothing was changed."}`},
		"there already":   {"*** Add File: dir/c.txt\n+c", `{"success":false,"error":"This file exists already: dir/c.txt","hint":"Nothing was changed."}`},
		"delete missing":  {"*** Delete File: zzz", `File not found: zzz`},
		"delete twice":    {"*** Delete File: b.txt\n*** Delete File: b.txt", `File not found: b.txt`},
		"delete a folder": {"*** Delete File: dir", `This is a folder`},
		"move onto":       {"*** Move File: a.txt -> b.txt", `This file exists already: b.txt`},
		"move missing":    {"*** Move File: zzz -> y", `File not found: zzz`},
		"moved before":    {"*** Move File: b.txt -> y\n*** Update File: b.txt\n-x\n+y", `File not found: b.txt`},
		"binary":          {"*** Update File: bin\n-x\n+y", `This is a binary file`},
		"outside":         {"*** Add File: /etc/hermes-batch-test\n+x", `outside of the work folder`},
		"link outside":    {"*** Update File: out\n-root\n+x", `outside of the work folder`},
		"cut off":         {"*** Update File: b.txt\n-x\n+y\n*** Begin Patch", `Begin Patch within a patch`},
		"nothing changes": {"*** Update File: b.txt\n- x \n+x", `b.txt: the file would stay as it is`},
	} {
		r := s.run(patch{}, patchText("*** Add File: new.txt\n+new", c.section))
		if !strings.Contains(r.Text, c.want) || r.Success {
			t.Errorf("%s\n got %s\nwant %s", name, r.Text, c.want)
		}
		if after := encode(s.files()); after != before {
			t.Fatalf("%s changed something: %s", name, after)
		}
	}
}

func TestPatchHunks(t *testing.T) {
	for name, c := range map[string]struct{ text, patch, want string }{
		"hints choose":                   {"class A:\n  def f():\n    x\nclass B:\n  def f():\n    x\n", "@@ class B:\n@@ def f():\n-    x\n+    y", "class A:\n  def f():\n    x\nclass B:\n  def f():\n    y\n"},
		"a hint that is a part":          {"class A(Base):\n  x\nclass B(Base):\n  x\n", "@@ class B\n-  x\n+  y", "class A(Base):\n  x\nclass B(Base):\n  y\n"},
		"a hint that is a line as well":  {"func a() {\n\tx\n}\nfunc b() {\n\tx\n}\n", "@@ func b() {\n func b() {\n-\tx\n+\ty", "func a() {\n\tx\n}\nfunc b() {\n\ty\n}\n"},
		"a hint that is wrong":           {"a\nb\n", "@@ no such line\n-b\n+c", "a\nc\n"},
		"in order":                       {"x\na\nx\nb\nx\n", "@@\n a\n-x\n+1\n@@\n b\n-x\n+2", "x\na\n1\nb\n2\n"},
		"the next one below":             {"a\nx\nb\nx\n", "@@\n-b\n+c\n@@\n-x\n+y", "a\nx\nc\ny\n"},
		"the rest of a changed line":     {"ab\nb\n", "@@\n-ab\n+xb\n@@\n-b\n+c", "xb\nc\n"},
		"out of order":                   {"a\nb\nc\n", "@@\n-c\n+3\n@@\n-a\n+1", "1\nb\n3\n"},
		"shared lines around":            {"a\nb\nc\nd\ne\n", "@@\n a\n-b\n+B\n c\n@@\n c\n-d\n+D\n e", "a\nB\nc\nD\ne\n"},
		"lines of the one before":        {"a\nb\nc\n", "@@\n-a\n+A\n b\n@@\n A\n b\n-c\n+C", "A\nb\nC\n"},
		"at the end":                     {"x\ny\nx\n", "@@\n-x\n+z\n*** End of File", "x\ny\nz\n"},
		"added at the end":               {"a\n", "@@\n+b\n+c", "a\nb\nc\n"},
		"added without last line end":    {"a", "@@\n+b", "a\nb"},
		"added to an empty file":         {"", "@@\n+b", "b\n"},
		"added below a hint":             {"a\nb\n", "@@ a\n+x", "a\nx\nb\n"},
		"removed at the end":             {"a\nb", "@@\n a\n-b", "a"},
		"all removed":                    {"a\nb\n", "-a\n-b", ""},
		"last line changed, no line end": {"a\nb", " a\n-b\n+c", "a\nc"},
		"CR LF":                          {"a\r\nb\r\n", " a\n-b\n+c\n+d", "a\r\nc\r\nd\r\n"},
		"byte order mark":                {"\uFEFFa\nb\n", "-a\n+c", "\uFEFFc\nb\n"},
		"whole lines only":               {"ab\nb\n", "-b\n+c", "ab\nc\n"},
		"other indentation":              {"\tif a {\n\t\tb()\n\t}\n", "     if a {\n-        b()\n+        c()\n+        if d {\n+            e()\n+        }\n     }", "\tif a {\n\t\tc()\n\t\tif d {\n\t\t\te()\n\t\t}\n\t}\n"},
		"lines that stay are the file's": {"a  \n“b”\nc\n", " a\n \"b\"\n-c\n+d", "a  \n“b”\nd\n"},
		"blank lines left out":           {"a\n\nb\n", "@@\n a\n\n-b\n+c\n", "a\n\nc\n"},
	} {
		s := newSession(t)
		s.write("f", c.text)
		r := s.run(patch{}, patchText("*** Update File: f", c.patch))
		if got := s.read("f"); got != c.want || !r.Success {
			t.Errorf("%s\n got %q %s\nwant %q", name, got, r.Text, c.want)
		}
	}
}

// failing is a sandbox whose files cannot be written from some write on.
type failing struct {
	sandbox.Sandbox
	files *failingFiles
}

type failingFiles struct {
	sandbox.Files
	good int // writes that work
	err  error
	lies bool // says nothing and writes something else
}

func (f failing) Files() sandbox.Files { return f.files }

func (f *failingFiles) WriteFile(name string, data []byte) (bool, error) {
	if f.good--; f.good >= 0 {
		return f.Files.WriteFile(name, data)
	}
	if f.lies {
		data = append([]byte("somebody else was here\n"), data...)
		return f.Files.WriteFile(name, data)
	}
	return false, f.err
}

// Where a write fails in spite of all checks, the result says what was done.
func TestPatchStopsHalfway(t *testing.T) {
	text := patchText("*** Update File: a\n-a\n+A", "*** Update File: b\n-b\n+B", "*** Add File: c\n+c")
	for name, c := range map[string]struct {
		files failingFiles
		want  string
		err   error
	}{
		"refused": {failingFiles{good: 1, err: fs.ErrPermission}, `{"success":false,"files_modified":["ROOT/a"],"error":"permission denied: b; what comes before it in the patch was done, the rest was not"}`, nil},
		"changed": {failingFiles{good: 1, lies: true}, `{"success":false,"files_modified":["ROOT/a"],"error":"b: it does not hold what was written; something else changes this file at the same time; what comes before it in the patch was done, the rest was not"}`, nil},
		"lost":    {failingFiles{good: 1, err: sandbox.ErrLost}, "", sandbox.ErrLost},
	} {
		s := newSession(t)
		s.write("a", "a\n")
		s.write("b", "b\n")
		call := s.call(text)
		c.files.Files = s.box.Files()
		call.Sandbox = failing{s.box, &c.files}
		call.Shell.Cwd = s.box.Root()
		r, err := Run(context.Background(), patch{}, call)
		if want := strings.ReplaceAll(c.want, "ROOT", s.box.Root()); r.Text != want || !errors.Is(err, c.err) {
			t.Errorf("%s\n got %s %v\nwant %s", name, r.Text, err, want)
		}
		if s.read("a") != "A\n" {
			t.Errorf("%s: a is %q", name, s.read("a"))
		}
	}
}

func TestPatchKeepsModeAndLinks(t *testing.T) {
	s := newSession(t)
	s.write("run.sh", "echo one\n")
	path := filepath.Join(s.box.Root(), "run.sh")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("run.sh", filepath.Join(s.box.Root(), "link")); err != nil {
		t.Fatal(err)
	}
	s.run(patch{}, replaceArgs("link", "one", "two"))
	if st, err := os.Lstat(path); err != nil || st.Mode().Perm() != 0o755 || s.read("run.sh") != "echo two\n" {
		t.Errorf("%v %v %q", st.Mode(), err, s.read("run.sh"))
	}
	if st, err := os.Lstat(filepath.Join(s.box.Root(), "link")); err != nil || st.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v %v", st.Mode(), err)
	}
}

func TestPatchLargeFiles(t *testing.T) {
	s := newSession(t)
	s.write("large", strings.Repeat("line\n", maxPatchFile/5+1))
	s.write("some", strings.Repeat("some line of text\n", 200_000)+"end\n")
	if r := s.run(patch{}, replaceArgs("large", "line", "x")); !strings.Contains(r.Text, "larger than 8388608 bytes") {
		t.Errorf("got %.300s", r.Text)
	}
	if r := s.run(patch{}, replaceArgs("some", "end", "the end")); !r.Success || !strings.HasSuffix(s.read("some"), "text\nthe end\n") {
		t.Errorf("got %.300s", r.Text)
	}
	if r := s.run(patch{}, patchText("*** Delete File: large", "*** Move File: some -> other")); !r.Success || !strings.Contains(r.Text, `--- a/large\n+++ /dev/null\nrename from some\nrename to other\n`) {
		t.Errorf("got %.300s", r.Text)
	}
	// A diff that is too long is cut in the middle; the rest of the result stays.
	r := s.run(patch{}, `{"path":"other","old_string":"some","new_string":"any","replace_all":true}`)
	if !r.Success || r.Dropped == 0 || field(t, r, "replacements") != "200000" {
		t.Errorf("got %.300s", r.Text)
	}
}

func TestPatchInterrupted(t *testing.T) {
	s := newSession(t)
	s.write("a", "a\n")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := Run(ctx, patch{}, s.call(replaceArgs("a", "a", "b"))); !errors.Is(err, context.Canceled) || s.read("a") != "a\n" {
		t.Errorf("got %s, %v", r.Text, err)
	}
}
