package sandboxtest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"hermes-batch/tools/sandbox"
)

func testFiles(t *testing.T, s *session) {
	f := s.box.Files()
	data := []byte("żółć\r\n\x00\xff no newline")
	made, err := f.WriteFile("new/deep/file.txt", data)
	if err != nil || !made {
		t.Fatalf("WriteFile = %v, %v; want true", made, err)
	}
	if made, err = f.WriteFile("new/deep/other.txt", nil); err != nil || made {
		t.Errorf("WriteFile beside it = %v, %v; want false", made, err)
	}
	if got, err := f.ReadFile("new/deep/file.txt", 100); err != nil || !bytes.Equal(got, data) {
		t.Errorf("ReadFile = %q, %v", got, err)
	}
	if out := s.sh(t, "cat new/deep/file.txt | od -An -tx1 | tr -d ' \\n'; chmod 750 new/deep/file.txt; ls -A new/deep"); out != "c5bcc3b3c582c4870d0a00ff206e6f206e65776c696e65file.txt\nother.txt\n" {
		t.Errorf("commands see %q", out)
	}
	if _, err := f.WriteFile("new/deep/file.txt", []byte("second")); err != nil {
		t.Errorf("WriteFile over it: %v", err)
	}
	st, err := f.Stat("new/deep/file.txt")
	if err != nil || st.Mode() != 0o750 || st.Size() != 6 || st.Name() != "file.txt" {
		t.Errorf("Stat after it = %v, %v; want mode 0750", st, err)
	}
	if _, err := f.ReadFile("new/deep/file.txt", 5); !errors.Is(err, sandbox.ErrTooLarge) {
		t.Errorf("ReadFile of 6 bytes with a bound of 5 = %v", err)
	}
	if got, err := f.ReadFile("new/deep/file.txt", 6); string(got) != "second" || err != nil {
		t.Errorf("ReadFile with a bound of 6 = %q, %v", got, err)
	}
	file, err := f.Open("new/deep/file.txt")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(file)
	if string(got) != "second" || err != nil || file.Close() != nil {
		t.Errorf("read from Open: %q, %v", got, err)
	}
	list, err := f.ReadDir("new/deep")
	if err != nil || len(list) != 2 || list[0].Name() != "file.txt" || list[1].Name() != "other.txt" {
		t.Errorf("ReadDir = %v, %v", list, err)
	}
	if err := f.Rename("new/deep/file.txt", "new/moved"); err != nil {
		t.Errorf("Rename: %v", err)
	}
	if err := f.Remove("new/deep"); err == nil {
		t.Error("Remove of a folder with files went through")
	}
	for _, name := range []string{"new/deep/other.txt", "new/deep", "new/moved"} {
		if err := f.Remove(name); err != nil {
			t.Errorf("Remove(%s): %v", name, err)
		}
	}
	if _, err := f.Stat("new/moved"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat of what is gone = %v", err)
	}
}

func testFileNames(t *testing.T, s *session) {
	f := s.box.Files()
	root := strings.TrimSpace(s.sh(t, `mkdir -p dir; echo in >dir/file
		ln -s dir/file rel; ln -s "$PWD/dir" abs; ln -s ../dir/file dir/up; ln -s /etc/passwd out; ln -s ../../../../etc outdir
		ln -s loop2 loop1; ln -s loop1 loop2; ln -s dir/later dangling; ln -s / slash; pwd`))
	for _, name := range []string{"dir/file", "./dir/../dir/file", root + "/dir/file", "rel", "abs/file", "dir/up", root + "/abs/up"} {
		if b, err := f.ReadFile(name, 10); string(b) != "in\n" || err != nil {
			t.Errorf("ReadFile(%q) = %q, %v", name, b, err)
		}
	}
	for _, name := range []string{
		"/etc/passwd", "../../../../../../etc/passwd", "out", "outdir/passwd", "slash/etc/passwd", "dir/../../x",
		root + "/../x", "/", "..", "/proc/self/environ", root + "x/file",
	} {
		_, readErr := f.ReadFile(name, 10)
		_, openErr := f.Open(name)
		_, statErr := f.Stat(name)
		_, listErr := f.ReadDir(name)
		_, writeErr := f.WriteFile(name, []byte("x"))
		for what, err := range map[string]error{"ReadFile": readErr, "Open": openErr, "Stat": statErr, "ReadDir": listErr, "WriteFile": writeErr} {
			if !errors.Is(err, sandbox.ErrOutside) {
				t.Errorf("%s(%q) = %v, want ErrOutside", what, name, err)
			}
		}
	}
	for _, name := range []string{"/etc/passwd", "slash/etc/passwd", "../x"} {
		if err := f.Remove(name); !errors.Is(err, sandbox.ErrOutside) {
			t.Errorf("Remove(%q) = %v, want ErrOutside", name, err)
		}
		if err := f.Rename("dir/file", name); !errors.Is(err, sandbox.ErrOutside) {
			t.Errorf("Rename to %q = %v, want ErrOutside", name, err)
		}
	}
	for _, name := range []string{"", "a\x00b", "loop1", strings.Repeat("n", 300), "dir/file/below"} {
		if _, err := f.ReadFile(name, 10); err == nil {
			t.Errorf("ReadFile(%.20q) went through", name)
		}
		if _, err := f.WriteFile(name, nil); err == nil {
			t.Errorf("WriteFile(%.20q) went through", name)
		}
	}
	for _, name := range []string{".", root} {
		if err := f.Remove(name); err == nil {
			t.Errorf("Remove(%q) removed the root", name)
		}
		if list, err := f.ReadDir(name); err != nil || len(list) != 9 {
			t.Errorf("ReadDir(%q) = %v, %v", name, list, err)
		}
	}
	// Writing goes through a link, removing and moving do not.
	for name, target := range map[string]string{"rel": "dir/file", "abs/up": "dir/file", "dangling": "dir/later"} {
		if _, err := f.WriteFile(name, []byte(name)); err != nil {
			t.Errorf("WriteFile(%q): %v", name, err)
		}
		if b, err := f.ReadFile(target, 10); string(b) != name || err != nil {
			t.Errorf("%s then holds %q, %v", target, b, err)
		}
	}
	if err := errors.Join(f.Rename("rel", "moved"), f.Remove("out"), f.Remove("moved")); err != nil {
		t.Error(err)
	}
	if out := s.sh(t, "ls dir; [ -L rel ] || [ -L out ] || echo gone; test -s /etc/passwd && echo safe"); out != "file\nlater\nup\ngone\nsafe\n" {
		t.Errorf("left: %q", out)
	}
}

// testOddFiles checks that nothing that is no file can hold a tool up.
func testOddFiles(t *testing.T, s *session) {
	f := s.box.Files()
	if out := s.sh(t, "mkfifo pipe; mkdir dir; ln -s pipe link; truncate -s 1T sparse; : >empty"); out != "" {
		t.Fatal(out)
	}
	for _, name := range []string{"pipe", "dir", "link", "."} {
		_, readErr := f.ReadFile(name, 10)
		_, openErr := f.Open(name)
		_, writeErr := f.WriteFile(name, nil)
		for what, err := range map[string]error{"ReadFile": readErr, "Open": openErr, "WriteFile": writeErr} {
			if !errors.Is(err, sandbox.ErrNotRegular) {
				t.Errorf("%s(%q) = %v, want ErrNotRegular", what, name, err)
			}
		}
	}
	if _, err := f.ReadFile("sparse", 1<<20); !errors.Is(err, sandbox.ErrTooLarge) {
		t.Errorf("ReadFile of a huge file = %v", err)
	}
	if b, err := f.ReadFile("empty", 0); len(b) != 0 || err != nil {
		t.Errorf("ReadFile of an empty file = %q, %v", b, err)
	}
	if _, err := f.ReadDir("empty"); err == nil {
		t.Error("ReadDir of a file went through")
	}
}
