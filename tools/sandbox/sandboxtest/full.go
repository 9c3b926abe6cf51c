package sandboxtest

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"testing"
	"time"

	"hermes-batch/tools/sandbox"
)

// text reads the file of an output as the file tools do; a failure fails the test.
func (s *session) text(t *testing.T, full *sandbox.Full) string {
	t.Helper()
	if full == nil || full.File == "" || full.Problem != "" {
		t.Fatalf("no file: %+v", full)
	}
	f, err := s.box.Files().Open(full.File)
	if err != nil {
		t.Fatalf("Open(%s): %v", full.File, err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil || int64(len(b)) != full.Size {
		t.Errorf("%s has %d bytes, %v; %d are said to be there", full.File, len(b), err, full.Size)
	}
	return string(b)
}

// What does not fit lies whole in a file that commands and file tools can read.
func testFull(t *testing.T, s *session) {
	short := s.exec(t, sandbox.Command{Script: "printf 12345678", Head: 4, Tail: 4})
	if out := s.sh(t, "ls -A ~"); short.Full != nil || strings.Contains(out, sandbox.ResultsFolder) {
		t.Errorf("a short output: %+v, work folder: %q", short.Full, out)
	}
	const zeros = `printf 'a\000\377\nb'; `
	for _, c := range []sandbox.Command{
		{Script: zeros + "printf 23456789", Head: 4, Tail: 4},
		{Script: "mkdir -p d; cd d; " + zeros + "printf 23456789", Head: 4, Tail: 4},
		{Script: zeros + "printf 23456789", Head: 4, Tail: 4, Dir: "/"},
		{Script: "stty raw; " + zeros + "printf 23456789", Head: 4, Tail: 4, Terminal: true},
	} {
		c.Key = s.key()
		r := s.exec(t, c)
		if got, want := s.text(t, r.Full), "a\x00\xff\nb23456789"; got != want || r.Full.Lost != 0 || r.Dropped == 0 {
			t.Errorf("%q: %q, %+v; want %q", c.Script, got, r.Full, want)
		}
		if !path.IsAbs(r.Full.File) || path.Base(path.Dir(r.Full.File)) != sandbox.ResultsFolder {
			t.Errorf("the file is %s", r.Full.File)
		}
		if out := s.sh(t, fmt.Sprintf("cd /; wc -c <'%s'", r.Full.File)); strings.TrimSpace(out) != "13" {
			t.Errorf("a command finds %q", out)
		}
		again, state, err := s.box.Recall(t.Context(), c.Key)
		if err != nil || state != sandbox.CallDone || again.Full == nil || *again.Full != *r.Full {
			t.Errorf("Recall: %+v, %v, %v", again.Full, state, err)
		}
	}
	if out := s.sh(t, "git --version >/dev/null 2>&1 || exit 0; cd ~; git init -q .; git status --porcelain -uall"); strings.Contains(out, sandbox.ResultsFolder) {
		t.Errorf("git sees the files: %s", out)
	}
}

// However long an output is, its file is bounded and says what it lacks; what
// a background process writes after the end belongs to nobody.
func testFullBounds(t *testing.T, s *session) {
	r := s.exec(t, sandbox.Command{Script: `yes "zażółć" | head -c 50000000; echo; echo END`})
	text := s.text(t, r.Full)
	if r.Full.Size != sandbox.MaxFull || r.Full.Lost != 50_000_005-sandbox.MaxFull || !strings.HasPrefix(text, "zażółć\nzażółć\n") {
		t.Errorf("of 50 MB: %+v, %.30q", r.Full, text)
	}
	r = s.exec(t, sandbox.Command{Script: "yes", Timeout: time.Second})
	if text := s.text(t, r.Full); !r.TimedOut || !strings.HasPrefix(text, "y\ny\n") {
		t.Errorf("after a timeout: %+v, %.10q", r.Full, text)
	}
	r = s.exec(t, sandbox.Command{Script: "seq 20000; (until [ -e go ]; do sleep 0.01; done; seq 20000; touch went) & exit 0"})
	size := r.Full.Size
	s.sh(t, "touch go; until [ -e went ]; do sleep 0.01; done")
	if text := s.text(t, r.Full); int64(len(text)) != size || !strings.HasSuffix(text, "\n20000\n") {
		t.Errorf("after the end the file grew from %d to %d bytes", size, len(text))
	}
}

// A job's output that is longer than what is kept of it is in the file while it
// runs, and after.
func testFullJob(t *testing.T, s *session) {
	j := s.start(t, sandbox.Command{Script: "seq 1000; read -r x; seq 100000; read -r x; seq 3"})
	eventually(t, "the output so far", func() bool { return len(s.job(t, j.ID, 0).Result.Output) > 3000 })
	if now := s.job(t, j.ID, 0); now.Result.Full != nil {
		t.Errorf("a short output: %+v", now.Result.Full)
	}
	s.send(t, j.ID, "\n", false)
	eventually(t, "all of it", func() bool { return strings.HasSuffix(string(s.job(t, j.ID, 0).Result.Output), "\n100000\n") })
	if text := s.text(t, s.job(t, j.ID, 0).Result.Full); !strings.HasPrefix(text, "1\n2\n") || !strings.HasSuffix(text, "\n100000\n") {
		t.Errorf("while it runs: %.20q … %.20q", text, text[max(0, len(text)-20):])
	}
	s.send(t, j.ID, "\n", false)
	end := s.job(t, j.ID, time.Minute).Result
	if text := s.text(t, end.Full); !strings.HasSuffix(text, "\n100000\n1\n2\n3\n") || int64(len(text)) != end.Dropped+int64(len(end.Output)) {
		t.Errorf("after the end: %d bytes, %d dropped", len(text), end.Dropped)
	}
}

// What the commands put in the folder's place costs the file and nothing else:
// the result comes, and nothing is written where a link leads.
func testFullRefused(t *testing.T, s *session) {
	const long = "; seq 100000"
	for name, script := range map[string]string{
		"a link to a folder":     `d=$(mktemp -d); echo "$d" >outside; ln -sfn "$d" ` + sandbox.ResultsFolder,
		"a link to the work":     "ln -sfn . " + sandbox.ResultsFolder,
		"a link to nothing":      "ln -sfn none " + sandbox.ResultsFolder,
		"a file":                 "echo mine >" + sandbox.ResultsFolder,
		"a folder as the file":   "mkdir -p " + sandbox.ResultsFolder + "/KEY.txt/x",
		"a link as the file":     "mkdir " + sandbox.ResultsFolder + "; echo mine >target; ln -s ../target " + sandbox.ResultsFolder + "/KEY.txt",
		"another one with links": "mkdir " + sandbox.ResultsFolder + "; echo mine >target; ln target " + sandbox.ResultsFolder + "/KEY.txt",
	} {
		key := s.key()
		s.sh(t, "cd ~; rm -rf target "+sandbox.ResultsFolder)
		r := s.exec(t, sandbox.Command{Key: key, Script: "cd ~; " + strings.ReplaceAll(script, "KEY", key) + long})
		if !strings.HasSuffix(string(r.Output), "\n100000\n") || r.ExitCode != 0 || r.Full == nil {
			t.Fatalf("%s: %+v", name, r)
		}
		switch name {
		case "a link as the file", "another one with links": // are replaced
			s.text(t, r.Full)
			if out := s.sh(t, "cat ~/target"); out != "mine\n" {
				t.Errorf("%s: what it led to holds %.20q", name, out)
			}
		default:
			if r.Full.File != "" || r.Full.Problem == "" || r.Full.Size != 0 || r.Full.Lost != 588_895 {
				t.Errorf("%s: %+v", name, r.Full)
			}
		}
	}
	if out := s.sh(t, `cd "$(cat ~/outside)" && ls -A && rmdir "$PWD"; cat ~/none`); strings.Contains(out, ".txt") || !strings.Contains(out, "No such file") {
		t.Errorf("outside of the work folder lies %q", out)
	}
	// One that goes while the command writes does not harm it either.
	r := s.exec(t, sandbox.Command{Script: "cd ~; rm -rf " + sandbox.ResultsFolder + long + "; rm -rf " + sandbox.ResultsFolder + long})
	if !strings.HasSuffix(string(r.Output), "\n100000\n") || r.ExitCode != 0 {
		t.Errorf("without its folder: %+v", r)
	}
}

// The program's own long results lie beside those of commands.
func testKeep(t *testing.T, s *session) {
	key := s.key()
	for _, text := range []string{"first, longer\x00\xff", "second"} {
		full, err := s.box.Keep(key, []byte(text))
		if err != nil || s.text(t, &full) != text || path.Base(path.Dir(full.File)) != sandbox.ResultsFolder {
			t.Errorf("Keep(%q) = %+v, %v", text, full, err)
		}
	}
	full, err := s.box.Keep(key, make([]byte, sandbox.MaxFull+5))
	if err != nil || len(s.text(t, &full)) != sandbox.MaxFull || full.Lost != 5 {
		t.Errorf("Keep of more than MaxFull = %+v, %v", full, err)
	}
	if _, err := s.box.Keep("../x", []byte("x")); !errors.Is(err, sandbox.ErrKey) {
		t.Errorf("Keep with a bad key = %v", err)
	}
	s.sh(t, "cd ~; rm -rf "+sandbox.ResultsFolder+"; echo mine >"+sandbox.ResultsFolder)
	if full, err := s.box.Keep(key, []byte("x")); err != nil || full.File != "" || full.Problem == "" || full.Lost != 1 {
		t.Errorf("Keep where nothing can be kept = %+v, %v", full, err)
	}
}
