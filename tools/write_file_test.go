package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteFileResults(t *testing.T) {
	s := newSession(t)
	root := s.box.Root()
	s.write("old.txt", "old")
	s.write("folder/x", "x")
	if err := os.Symlink("/etc", filepath.Join(root, "out")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, text, status string }{
		{`{"path":"new.txt","content":"héllo\n"}`, `{"bytes_written":7,"dirs_created":false,"resolved_path":"` + root + `/new.txt","files_modified":["` + root + `/new.txt"]}`, StatusOK},
		{`{"path":"a/b/c.txt","content":""}`, `{"bytes_written":0,"dirs_created":true,"resolved_path":"` + root + `/a/b/c.txt","files_modified":["` + root + `/a/b/c.txt"]}`, StatusOK},
		{`{"path":"` + root + `/a/../old.txt","content":"new"}`, `{"bytes_written":3,"dirs_created":false,"resolved_path":"` + root + `/old.txt","files_modified":["` + root + `/old.txt"]}`, StatusOK},
		{`{"path":"n.txt","content":5}`, `{"bytes_written":1,"dirs_created":false,"resolved_path":"` + root + `/n.txt","files_modified":["` + root + `/n.txt"]}`, StatusOK},

		{`{"path":"x","file_content":"y"}`, `{"error":"bad arguments for write_file: unknown \"file_content\"; missing \"content\". Expected: path (required), content (required). Given: path, file_content."}`, StatusBadArguments},
		{`{"path":"x","content":["a","b"]}`, `{"error":"bad arguments for write_file: \"content\" must be a string, not [\"a\",\"b\"]. Expected: path (required), content (required). Given: path, content."}`, StatusBadArguments},
		{`{"path":"","content":"x"}`, `{"error":"path is empty"}`, StatusError},
		{`{"path":"/etc/hermes-batch-test","content":"x"}`, `{"error":"/etc/hermes-batch-test is outside of the work folder; paths must lie inside ` + root + `"}`, StatusError},
		{`{"path":"../../x","content":"x"}`, `{"error":"../../x is outside of the work folder; paths must lie inside ` + root + `"}`, StatusError},
		{`{"path":"out/hermes-batch-test","content":"x"}`, `{"error":"out/hermes-batch-test is outside of the work folder; paths must lie inside ` + root + `"}`, StatusError},
		{`{"path":"folder","content":"x"}`, `{"error":"folder is not a regular file"}`, StatusError},
		{`{"path":"old.txt/x","content":"x"}`, `{"error":"old.txt/x: not a directory"}`, StatusError},
	} {
		r := s.run(writeFile{}, c.args)
		if r.Text != c.text || r.Status != c.status {
			t.Errorf("%s\n got %s %s\nwant %s %s", c.args, r.Status, r.Text, c.status, c.text)
		}
	}
	for name, want := range map[string]string{"new.txt": "héllo\n", "a/b/c.txt": "", "old.txt": "new", "n.txt": "5"} {
		if got := s.read(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if _, err := os.Stat("/etc/hermes-batch-test"); err == nil {
		t.Error("a file was written outside")
	}
}

// What the model wrote is what the file has, whatever it looks like.
func TestWriteFileKeepsBytes(t *testing.T) {
	s := newSession(t)
	for _, content := range []string{
		`["a", "b"]`, `{"n": 9007199254740993}`, "a\r\nb\n", "\t<html>&amp;\u2028\x00", "ends\n\n", strings.Repeat("zażółć\n", 100_000),
	} {
		s.run(writeFile{}, encode(map[string]string{"path": "f", "content": content}))
		if got := s.read("f"); got != content {
			t.Errorf("%.20q became %.20q", content, got)
		}
	}
}

func TestWriteFileKeepsStyle(t *testing.T) {
	s := newSession(t)
	for _, c := range []struct{ old, content, want string }{
		{"a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n"},
		{"a\r\nb\n", "x\ny\n", "x\ny\n"},
		{"a\nb\n", "x\ny\n", "x\ny\n"},
		{"a\r\n", "x\r\ny\n", "x\r\ny\n"},
		{"\uFEFFa\r\n", "x\n", "\uFEFFx\r\n"},
		{"\uFEFFa", "\uFEFFx", "\uFEFFx"},
		{"", "x\n", "x\n"},
	} {
		s.write("f", c.old)
		r := s.run(writeFile{}, encode(map[string]string{"path": "f", "content": c.content}))
		if got := s.read("f"); got != c.want || field(t, r, "bytes_written") != encode(len(c.want)) {
			t.Errorf("%q over %q: %q, want %q; %s", c.content, c.old, got, c.want, r.Text)
		}
	}
}

func TestWriteFileKeepsMode(t *testing.T) {
	s := newSession(t)
	s.write("run.sh", "old")
	path := filepath.Join(s.box.Root(), "run.sh")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	s.run(writeFile{}, `{"path":"run.sh","content":"echo hi"}`)
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if r := s.run(terminal{}, `{"command":"bash ./run.sh"}`); textField(t, r, "output") != "hi\n" {
		t.Errorf("got %s", r.Text)
	}
}
