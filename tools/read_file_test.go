package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestReadFileResults(t *testing.T) {
	s := newSession(t)
	thai := strings.Repeat("a", 999) + strings.Repeat("ไทย", 100)
	s.write("hello.txt", "one\ntwo <&>\n\nfour")
	s.write("empty.txt", "")
	s.write("newline.txt", "\n")
	s.write("crlf.txt", "\uFEFFone\r\ntwo\r\n")
	s.write("thai.txt", thai)
	s.write("latin1.txt", "caf\xe9 au lait, s'il vous pla\xeet")
	s.write("nul.txt", "a\x00b and more text\n")
	s.write("words.txt", "BMI and ID3 are words\n")
	s.write("fake.png", "no picture\n")
	s.write("real.dat", "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR")
	s.write("prog", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	s.write("doc.pdf", "%PDF-1.4\nplain words only\n")
	s.write("a.zip", "PK\x03\x04 some text that is long enough to hide the signature")
	s.write("utf16.txt", "\xff\xfeh\x00e\x00l\x00l\x00o\x00")
	s.write("sub/deep.txt", "deep\n")
	for _, c := range []struct{ args, text, status string }{
		{`{"path":"hello.txt"}`, `{"content":"1|one\n2|two <&>\n3|\n4|four","total_lines":4,"file_size":17,"truncated":false,"is_binary":false,"is_image":false}`, StatusOK},
		{`{"path":"hello.txt","offset":2,"limit":1}`, `{"content":"2|two <&>","total_lines":4,"file_size":17,"truncated":true,"is_binary":false,"is_image":false,"hint":"Lines 2 to 2 of 4; go on with offset=3."}`, StatusOK},
		{`{"path":"hello.txt","offset":"3","limit":"50"}`, `{"content":"3|\n4|four","total_lines":4,"file_size":17,"truncated":false,"is_binary":false,"is_image":false}`, StatusOK},
		{`{"path":"hello.txt","offset":5}`, `{"content":"","total_lines":4,"file_size":17,"truncated":false,"is_binary":false,"is_image":false,"hint":"The file has only 4 lines."}`, StatusOK},
		{`{"path":"hello.txt","offset":9223372036854775807,"limit":2000}`, `{"content":"","total_lines":4,"file_size":17,"truncated":false,"is_binary":false,"is_image":false,"hint":"The file has only 4 lines."}`, StatusOK},
		{`{"path":"empty.txt"}`, `{"content":"","total_lines":0,"file_size":0,"truncated":false,"is_binary":false,"is_image":false,"hint":"The file is empty."}`, StatusOK},
		{`{"path":"newline.txt"}`, `{"content":"1|","total_lines":1,"file_size":1,"truncated":false,"is_binary":false,"is_image":false}`, StatusOK},
		{`{"path":"crlf.txt"}`, `{"content":"1|one\n2|two","total_lines":2,"file_size":13,"truncated":false,"is_binary":false,"is_image":false}`, StatusOK},
		{`{"path":"thai.txt"}`, `{"content":"1|` + thai + `","total_lines":1,"file_size":1899,"truncated":false,"is_binary":false,"is_image":false}`, StatusOK},
		{`{"path":"latin1.txt"}`, `{"content":"1|caf� au lait, s'il vous pla�t","total_lines":1,"file_size":29,"truncated":false,"is_binary":false,"is_image":false}`, StatusOK},
		{`{"path":"nul.txt"}`, `{"content":"1|a\u0000b and more text","total_lines":1,"file_size":18,"truncated":false,"is_binary":false,"is_image":false}`, StatusOK},
		{`{"path":"words.txt"}`, `{"content":"1|BMI and ID3 are words","total_lines":1,"file_size":22,"truncated":false,"is_binary":false,"is_image":false}`, StatusOK},
		{`{"path":"fake.png"}`, `{"content":"1|no picture","total_lines":1,"file_size":11,"truncated":false,"is_binary":false,"is_image":false}`, StatusOK},
		{`{"path":"real.dat"}`, `{"content":"","total_lines":0,"file_size":16,"truncated":false,"is_binary":false,"is_image":true,"hint":"This is a picture; its bytes are not shown."}`, StatusOK},
		{`{"path":"sub/deep.txt"}`, `{"content":"1|deep","total_lines":1,"file_size":5,"truncated":false,"is_binary":false,"is_image":false}`, StatusOK},
		{`{"path":"` + s.box.Root() + `/sub/../sub/deep.txt"}`, `{"content":"1|deep","total_lines":1,"file_size":5,"truncated":false,"is_binary":false,"is_image":false}`, StatusOK},

		{`{"path":"prog"}`, `{"error":"This is a binary file; its bytes are not shown: prog","path":"prog","file_size":16,"is_binary":true}`, StatusError},
		{`{"path":"doc.pdf"}`, `{"error":"This is a binary file; its bytes are not shown: doc.pdf","path":"doc.pdf","file_size":26,"is_binary":true}`, StatusError},
		{`{"path":"a.zip"}`, `{"error":"This is a binary file; its bytes are not shown: a.zip","path":"a.zip","file_size":56,"is_binary":true}`, StatusError},
		{`{"path":"utf16.txt"}`, `{"error":"This is a binary file; its bytes are not shown: utf16.txt","path":"utf16.txt","file_size":12,"is_binary":true}`, StatusError},
		{`{"path":"sub"}`, `{"error":"This is a folder, not a file: sub","path":"sub"}`, StatusError},
		{`{"path":"hallo.txt"}`, `{"error":"File not found: hallo.txt","path":"hallo.txt","similar_files":["hello.txt"]}`, StatusError},
		{`{"path":"no/such/file"}`, `{"error":"File not found: no/such/file","path":"no/such/file"}`, StatusError},
		{`{"path":"hello.txt/x"}`, `{"error":"hello.txt/x: not a directory"}`, StatusError},
		{`{"path":""}`, `{"error":"path is empty"}`, StatusError},
		{`{"path":"~/x"}`, `{"error":"~/x: ~ is not understood here; give a relative path, or an absolute one inside ` + s.box.Root() + `"}`, StatusError},
		{`{"path":"../nonce"}`, `{"error":"../nonce is outside of the work folder; paths must lie inside ` + s.box.Root() + `"}`, StatusError},
		{`{"path":"/etc/passwd"}`, `{"error":"/etc/passwd is outside of the work folder; paths must lie inside ` + s.box.Root() + `"}`, StatusError},
		{`{"path":"sub/../../../../../../../etc/passwd"}`, `{"error":"sub/../../../../../../../etc/passwd is outside of the work folder; paths must lie inside ` + s.box.Root() + `"}`, StatusError},
		{`{"path":"hello.txt","offset":0}`, `{"error":"bad arguments for read_file: \"offset\" must be an integer of at least 1, not 0. Expected: path (required), offset, limit. Given: path, offset."}`, StatusBadArguments},
		{`{"path":"hello.txt","limit":2001}`, `{"error":"bad arguments for read_file: \"limit\" must be an integer of at least 1 and at most 2000, not 2001. Expected: path (required), offset, limit. Given: path, limit."}`, StatusBadArguments},
		{`{"file":"hello.txt"}`, `{"error":"bad arguments for read_file: unknown \"file\"; missing \"path\". Expected: path (required), offset, limit. Given: file."}`, StatusBadArguments},
	} {
		r := s.run(readFile{}, c.args)
		if r.Text != c.text || r.Status != c.status {
			t.Errorf("%s\n got %s %s\nwant %s %s", c.args, r.Status, r.Text, c.status, c.text)
		}
	}
}

func TestReadFileOddPlaces(t *testing.T) {
	s := newSession(t)
	s.write("real.txt", "real\n")
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(s.box.Root(), name)); err != nil {
			t.Fatal(err)
		}
	}
	link("real.txt", "inside")
	link("/etc/passwd", "outside")
	link("loop", "loop")
	if err := syscall.Mkfifo(filepath.Join(s.box.Root(), "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"inside": "1|real", "outside": "outside of the work folder", "loop": "loop", "pipe": "not a regular file",
		"real.txt\x00": "error", strings.Repeat("x", 5000): "error",
	} {
		r := s.run(readFile{}, encode(map[string]string{"path": path}))
		if !strings.Contains(r.Text, want) || r.Success != (path == "inside") {
			t.Errorf("%.20q: %s", path, r.Text)
		}
	}
}

func TestReadFileLongLines(t *testing.T) {
	s := newSession(t)
	s.write("long.txt", strings.Repeat("ż", maxLine)+"\n"+strings.Repeat("ż", maxLine+1)+"\r\nend\n")
	r := s.run(readFile{}, `{"path":"long.txt"}`)
	want := "1|" + strings.Repeat("ż", maxLine) + "\n2|" + strings.Repeat("ż", maxLine) + "... [truncated]\n3|end"
	if got := textField(t, r, "content"); got != want {
		t.Errorf("got %d bytes, want %d", len(got), len(want))
	}
}

func TestReadFileTooMuchAtOnce(t *testing.T) {
	s := newSession(t)
	s.write("much.txt", strings.Repeat(strings.Repeat("x", 999)+"\n", 300))
	r := s.run(readFile{}, `{"path":"much.txt"}`)
	if want := `{"error":"Lines 1 to 300 come to more than 100000 bytes; read fewer of them with offset and limit","path":"much.txt","total_lines":300,"file_size":300000}`; r.Text != want || r.Success {
		t.Errorf("got %.300s", r.Text)
	}
	r = s.run(readFile{}, `{"path":"much.txt","offset":211,"limit":90}`)
	if got := textField(t, r, "content"); strings.Count(got, "\n") != 89 || !strings.HasPrefix(got, "211|x") || r.Dropped != 0 {
		t.Errorf("got %.100s", r.Text)
	}
}

// A large file is read in little memory, and a larger one is refused at once.
func TestReadFileLargeFiles(t *testing.T) {
	s := newSession(t)
	path := filepath.Join(s.box.Root(), "sparse")
	if err := os.WriteFile(path, []byte("first\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 64<<20); err != nil {
		t.Fatal(err)
	}
	s.write("sparse2", "")
	if err := os.Truncate(filepath.Join(s.box.Root(), "sparse2"), 2<<40); err != nil {
		t.Skip("the file system has no sparse files:", err)
	}
	// The second line is all NUL bytes, which makes the sample binary.
	if r := s.run(readFile{}, `{"path":"sparse","limit":1}`); field(t, r, "is_binary") != "true" {
		t.Errorf("got %s", r.Text)
	}
	if r := s.run(readFile{}, `{"path":"sparse2"}`); !strings.Contains(r.Text, "larger than 1073741824 bytes") {
		t.Errorf("got %s", r.Text)
	}
	s.write("lines.txt", strings.Repeat("0123456789abcdef\n", 1<<20))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := s.run(readFile{}, `{"path":"lines.txt","offset":1048570}`)
	if got := textField(t, r, "content"); !strings.HasPrefix(got, "1048570|0123456789abcdef\n") || field(t, r, "total_lines") != "1048576" {
		t.Errorf("got %.200s", r.Text)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 2<<20 {
		t.Errorf("reading 17 MB took %d bytes of memory", got)
	}
}

func TestReadFileInterrupted(t *testing.T) {
	s := newSession(t)
	s.write("a.txt", "a\n")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := Run(ctx, readFile{}, s.call(`{"path":"a.txt"}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %s, %v", r.Text, err)
	}
}

func TestSimilarFiles(t *testing.T) {
	s := newSession(t)
	for _, name := range []string{"main.go", "Main.go", "main.py", "maim.go", "domain.go", "main_test.go", "mainly.txt", "other.md", ".env", "x"} {
		s.write("src/"+name, "x")
	}
	s.write("src/main/go.mod", "x")
	for path, want := range map[string]string{
		"src/MAIN.GO":  `["src/Main.go","src/main.go","src/main.py","src/maim.go","src/domain.go"]`,
		"src/mein.go":  `["src/Main.go","src/main.go"]`,
		"./src/.emv":   `["src/.env"]`,
		"src/zzz":      ``,
		"src/none/zzz": ``,
	} {
		r := s.run(readFile{}, fmt.Sprintf(`{"path":%q}`, path))
		if got := field(t, r, "similar_files"); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestKindOf(t *testing.T) {
	odd := func(percent int) []byte {
		return []byte(strings.Repeat("\x01", percent) + strings.Repeat("a", 100-percent))
	}
	for _, c := range []struct {
		sample []byte
		whole  bool
		want   kind
	}{
		{nil, true, kindText},
		{[]byte("\x1b[1mbold\x1b[0m\a\b"), true, kindText},
		{[]byte("cut here: \xe0\xb9"), false, kindText},
		{[]byte("\xe0"), true, kindBinary},
		{odd(30), true, kindText},
		{odd(31), true, kindBinary},
		{[]byte("GIF89a\x01\x00\x01\x00\x80\x00"), true, kindImage},
		{[]byte("RIFF\x00\x00\x00\x00WEBPVP"), true, kindImage},
		{[]byte("\x1f\x8b\x08\x00"), true, kindBinary},
		{[]byte("<svg xmlns='x'/>"), true, kindText},
		{[]byte("%!PS-Adobe-3.0"), true, kindText},
	} {
		if got := kindOf(c.sample, c.whole); got != c.want {
			t.Errorf("%.20q: %v, want %v", c.sample, got, c.want)
		}
	}
}
