package tools

import "testing"

func TestLooksNumbered(t *testing.T) {
	for text, want := range map[string]bool{
		"1|a": true, "1|a\n2|b\n": true, "12|a\r\n13|\r\n": true, "9|a\n10|": true,
		"": false, "a": false, "1|a\nb": false, "1|a\n3|b": false, "0|a": false, "-1|a": false, " 1|a": false, "1 |a": false, "|": false, "1|a\n\n2|b": false,
	} {
		if got := looksNumbered(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestIsNumberedCopy(t *testing.T) {
	for _, c := range []struct {
		content, old string
		want         bool
	}{
		{"1|if x:\n2|    y\n", "", true},
		{"1|a\n2|b\n", "a\nb\n", true},
		{"1|a\n2|changed\n", "\uFEFFa\r\nb\r\n", true},
		{"7|\tx\n8|\ty\n", "", true},
		// tables
		{"1|apple\n2|pear\n", "", false},
		{"1| apple\n2| pear\n", "", false},
		{"1|apple\n2|  pear\n", "1|apple\n", false},
		{"1|apple\n2|pear\n", "id|name\n", false},
		{"1|  one line", "", false},
	} {
		if got := isNumberedCopy(c.content, c.old); got != c.want {
			t.Errorf("%q over %q: %v", c.content, c.old, got)
		}
	}
}

// A file is not filled with what read_file shows of it.
func TestWriteFileRefusesNumbers(t *testing.T) {
	s := newSession(t)
	s.write("a.py", "if x:\n    y\n")
	args := encode(map[string]string{"path": "a.py", "content": textField(t, s.run(readFile{}, `{"path":"a.py"}`), "content") + "\n"})
	r := s.run(writeFile{}, args)
	if want := `{"error":"content begins its lines with the numbers that read_file shows (N|text); write the text without them"}`; r.Text != want || r.Success {
		t.Errorf("got %s", r.Text)
	}
	if got := s.read("a.py"); got != "if x:\n    y\n" {
		t.Errorf("the file is %q", got)
	}
	if r := s.run(writeFile{}, `{"path":"t.psv","content":"1|apple\n2|pear\n"}`); !r.Success {
		t.Errorf("got %s", r.Text)
	}
}
