package sandboxtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hermes-batch/tools/sandbox"
)

func testTerminal(t *testing.T, s *session) {
	size := fmt.Sprintf("%d %d\n", sandbox.TerminalRows, sandbox.TerminalColumns)
	for _, test := range []struct {
		script, output string
		code           int
	}{
		{"echo hi", "hi\n", 0},
		{"[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo yes", "yes\n", 0},
		{"stty size", size, 0},
		{"echo tty >/dev/tty", "tty\n", 0},
		{"printf 'a\\nb'", "a\nb", 0},
		{"cat; echo end", "end\n", 0},
		{"read -r x; echo $?", "1\n", 0},
		{"kill -9 $$", "", 137},
		{"exit 7", "", 7},
		{"stty raw; echo raw; exit 3", "raw\n", 3},
		{"echo żółć >&2; printf '\\377'", "żółć\n\uFFFD", 0},
	} {
		r := s.exec(t, sandbox.Command{Script: test.script, Terminal: true})
		if string(r.Output) != test.output || r.ExitCode != test.code || r.TimedOut || r.Dropped != 0 {
			t.Errorf("%q: output %q, code %d, %+v; want %q, %d", test.script, r.Output, r.ExitCode, r, test.output, test.code)
		}
	}
	r := s.exec(t, sandbox.Command{Script: "mkdir in; cd in; export A=1", Terminal: true})
	r = s.exec(t, sandbox.Command{Script: "echo $A; basename $(pwd); [ -t 1 ] || echo pipe", Shell: r.Shell})
	if string(r.Output) != "1\nin\npipe\n" {
		t.Errorf("the next command prints %q", r.Output)
	}
	r = s.exec(t, sandbox.Command{Script: `echo begin; yes "zażółć" | head -c 50000000; echo; echo end`, Terminal: true})
	if !strings.HasPrefix(string(r.Output), "begin\n") || !strings.HasSuffix(string(r.Output), "\nend\n") || r.Dropped < 49_900_000 {
		t.Errorf("long output: %d bytes dropped, %d kept", r.Dropped, len(r.Output))
	}
}

func testTerminalEnd(t *testing.T, s *session) {
	for _, test := range []struct {
		script  string
		output  string
		timeout bool
	}{
		{"sleep 300 & echo $! >>pids; echo started", "started\n", false},
		{"setsid sh -c 'echo $$ >>outlives; exec sleep 300' & until [ -s outlives ]; do sleep 0.01; done; echo started", "started\n", false},
		{`trap "" TERM HUP; echo $$ >>pids; echo a; sleep 100; sleep 100`, "a\n", true},
		{`echo $$ >>pids; echo a; head -n 1 /dev/tty; head -n 1 /dev/tty`, "a\n", true},
	} {
		start := time.Now()
		c := sandbox.Command{Script: test.script, Terminal: true, Grace: 300 * time.Millisecond}
		if test.timeout {
			c.Timeout = time.Second
		}
		r := s.exec(t, c)
		if string(r.Output) != test.output || r.TimedOut != test.timeout {
			t.Errorf("%q: %+v, output %q", test.script, r, r.Output)
		}
		if took := time.Since(start); took > 8*time.Second {
			t.Errorf("%q took %v", test.script, took)
		}
	}
	eventually(t, "what was hung up ends", func() bool { return s.alive(t, "pids") == "" })
	if s.alive(t, "outlives") == "" {
		t.Error("a process with a session of its own did not outlive the terminal")
	}
}

func testTerminalJob(t *testing.T, s *session) {
	start := func(script string) string {
		t.Helper()
		id := s.start(t, sandbox.Command{Script: script, Terminal: true}).ID
		eventually(t, script+" is ready", func() bool { return strings.HasPrefix(string(s.job(t, id, 0).Result.Output), "ready\n") })
		return id
	}
	id := start(`echo ready; read -r x; echo "got $x"; exit 3`)
	s.send(t, id, "hello\n", false)
	s.ended(t, id, "ready\nhello\ngot hello\n", 3) // with the echo
	id = start(`stty -echo; echo ready; cat; echo; echo between; cat; exit 4`)
	s.send(t, id, "half", true)
	eventually(t, "the first input ends", func() bool { return strings.Contains(string(s.job(t, id, 0).Result.Output), "between") })
	s.send(t, id, "line\n", true)
	s.ended(t, id, "ready\nhalf\nbetween\nline\n", 4)
	id = start(`stty -echo; trap 'echo interrupted; exit 9' INT; echo ready; while :; do sleep 0.05; done`)
	s.send(t, id, "\x03", false)
	s.ended(t, id, "ready\ninterrupted\n", 9)
}
