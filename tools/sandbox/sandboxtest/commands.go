package sandboxtest

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"hermes-batch/tools/sandbox"
)

func testShell(t *testing.T, s *session) {
	for _, test := range []struct {
		script, output string
		code           int
	}{
		{"echo hi", "hi\n", 0},
		{"", "", 0},
		{"\n\n", "", 0},
		{"false", "", 1},
		{"exit 7", "", 7},
		{"exit 300", "", 44},
		{"echo out; echo err >&2; echo out", "out\nerr\nout\n", 0},
		{"echo a # a comment", "a\n", 0},
		{"# only a comment", "", 0},
		{"#!/bin/sh\necho x", "x\n", 0},
		{"cat <<EOF\none\ntwo\nEOF\n", "one\ntwo\n", 0},
		{"cat <<'EOF'\n$HOME 'quoted'\nEOF", "$HOME 'quoted'\n", 0},
		{"set -e\nfalse\necho no", "", 1},
		{"set -eu; (exit 3); echo no", "", 3},
		{"f() { return 5; }; f", "", 5},
		{"(exit 4); echo $?", "4\n", 0},
		{"echo one\nexit 2\necho two", "one\n", 2},
		{"false | true", "", 0},
		{"trap 'echo mine' EXIT; exit 6", "mine\n", 6},
		{"exec echo replaced", "replaced\n", 0},
		{"echo \"it's\" 'a \"quote\"' `echo x` $(echo y) \\$z", "it's a \"quote\" x y $z\n", 0},
		{"echo żółć 日本 🙂", "żółć 日本 🙂\n", 0},
		{"printf 'no newline'", "no newline", 0},
		{"echo $#", "0\n", 0},
		{"kill -9 $$", "", 137},
		{"kill -TERM $$", "", 143},
	} {
		r := s.exec(t, sandbox.Command{Script: test.script})
		if string(r.Output) != test.output || r.ExitCode != test.code || r.TimedOut || r.Dropped != 0 {
			t.Errorf("%q: output %q, code %d, %+v; want %q, %d", test.script, r.Output, r.ExitCode, r, test.output, test.code)
		}
	}
	for _, test := range []struct {
		script, part string
		code         int
	}{
		{"echo \"unfinished", "matching", 2},
		{"echo one\nif", "one\n", 2},
		{"echo )", "syntax error", 2},
		{"no-such-command-here", "not found", 127},
		{"/", "", 126},
	} {
		r := s.exec(t, sandbox.Command{Script: test.script})
		if !strings.Contains(strings.ToLower(string(r.Output)), test.part) || r.ExitCode != test.code {
			t.Errorf("%q: output %q, code %d; want %q in it, %d", test.script, r.Output, r.ExitCode, test.part, test.code)
		}
	}
	if r := s.exec(t, sandbox.Command{Script: "kill -9 $$"}); r.Signal != "SIGKILL" {
		t.Errorf("Signal = %q, want SIGKILL", r.Signal)
	}
	if r := s.exec(t, sandbox.Command{Script: "sleep 0.2"}); r.Took < 200*time.Millisecond || r.Took > time.Minute {
		t.Errorf("Took = %v for sleep 0.2", r.Took)
	}
	if r := s.exec(t, sandbox.Command{Script: "echo \x00"}); r.ExitCode == 0 {
		t.Errorf("a script with a NUL byte was run: %+v", r)
	}
}

func testInput(t *testing.T, s *session) {
	if out := s.sh(t, "cat; echo end"); out != "end\n" {
		t.Errorf("a command that reads its input got %q", out)
	}
	if out := s.sh(t, "[ -t 0 ] || [ -t 1 ] || [ -t 2 ] || echo none"); out != "none\n" {
		t.Errorf("a command sees a terminal: %q", out)
	}
	for _, key := range []string{"", ".", "..", "a/b", "../x", "a b", strings.Repeat("k", 101)} {
		if _, err := s.box.Exec(t.Context(), sandbox.Command{Key: key, Script: "true"}); err == nil {
			t.Errorf("key %q was taken", key)
		}
	}
}

func testLargeScript(t *testing.T, s *session) {
	line := "v=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"
	script := strings.Repeat(line, 1<<20/len(line)+1) + "echo ${#v}; exit 3\n"
	r := s.exec(t, sandbox.Command{Script: script})
	if string(r.Output) != "64\n" || r.ExitCode != 3 {
		t.Errorf("script of %d bytes: output %.200q, code %d", len(script), r.Output, r.ExitCode)
	}
}

func testState(t *testing.T, s *session) {
	var shell sandbox.Shell
	run := func(script, want string) sandbox.Result {
		t.Helper()
		r := s.exec(t, sandbox.Command{Script: script, Shell: shell})
		if string(r.Output) != want {
			t.Errorf("%q: output %q, want %q", script, r.Output, want)
		}
		shell = r.Shell
		return r
	}
	root := strings.TrimSpace(s.sh(t, "pwd"))
	run("mkdir -p 'a b/c'; cd 'a b'; export X='1\n\"2\" $3 `4` \\'; Y=local; unset LANG", "")
	run("pwd", root+"/a b\n")
	run(`printf %s "$X"`, "1\n\"2\" $3 `4` \\")
	run(`echo "${Y-unset} ${LANG-unset} ${HOME+set}"`, "unset unset set\n")
	run("cd c && false", "")
	run("pwd; cd - >/dev/null; pwd", root+"/a b/c\n"+root+"/a b\n")
	run("export É=x 2>/dev/null; export U=żółć; cd ..; exit 9", "")
	run(`echo $U; pwd`, "żółć\n"+root+"\n")
	run("set -e; set -u; set -C; export Z=1; cd 'a b'; false", "")
	run("echo $Z; pwd", "1\n"+root+"/a b\n")
	run("unset Z U X", "")
	run("echo ${Z-gone}${U-gone}${X-gone}", "gonegonegone\n")

	before := shell
	run("cd /; export LOST=1; exec true", "")
	if shell != before {
		t.Errorf("a shell that replaced itself changed the state to %+v", shell)
	}
	run("cd /; trap : EXIT", "")
	if shell != before {
		t.Errorf("a shell without exit trap changed the state to %+v", shell)
	}
	run("cd /; kill -9 $$", "")
	if shell != before {
		t.Errorf("a killed shell changed the state to %+v", shell)
	}
	run("true", "")
	if shell != before {
		t.Errorf("a command that changes nothing changed the state to %+v, was %+v", shell, before)
	}

	r := s.exec(t, sandbox.Command{Script: "pwd; cd ..", Shell: shell, Dir: "c"})
	if string(r.Output) != root+"/a b/c\n" || r.Shell.Cwd != root+"/a b" {
		t.Errorf("with a relative Dir: output %q, state %q", r.Output, r.Shell.Cwd)
	}
	r = s.exec(t, sandbox.Command{Script: "pwd", Shell: shell, Dir: "/"})
	if string(r.Output) != "/\n" || r.Shell.Cwd != "/" {
		t.Errorf("with an absolute Dir: output %q, state %q", r.Output, r.Shell.Cwd)
	}
}

func testLostFolder(t *testing.T, s *session) {
	root := strings.TrimSpace(s.sh(t, "pwd"))
	r := s.exec(t, sandbox.Command{Script: "mkdir gone; export K=kept; cd gone; rmdir ../gone"})
	r = s.exec(t, sandbox.Command{Script: "echo ran", Shell: r.Shell})
	if r.ExitCode != 126 || strings.Contains(string(r.Output), "ran") || !strings.Contains(string(r.Output), "gone") {
		t.Errorf("in a folder that is gone: %+v, output %s", r, r.Output)
	}
	r = s.exec(t, sandbox.Command{Script: "pwd; echo $K", Shell: r.Shell})
	if want := root + "\nkept\n"; string(r.Output) != want {
		t.Errorf("the command after: output %q, want %q", r.Output, want)
	}
	kept := r.Shell
	r = s.exec(t, sandbox.Command{Script: "echo ran", Shell: kept, Dir: "no/such"})
	if r.ExitCode != 126 || strings.Contains(string(r.Output), "ran") || r.Shell != kept {
		t.Errorf("with a Dir that is not there: %+v, output %s", r, r.Output)
	}
	if out := s.sh(t, "echo x >plain"); out != "" {
		t.Errorf("output %q", out)
	}
	if r = s.exec(t, sandbox.Command{Script: "echo ran", Dir: "plain"}); r.ExitCode != 126 {
		t.Errorf("with a file as Dir: %+v", r)
	}
}

func testOutput(t *testing.T, s *session) {
	r := s.exec(t, sandbox.Command{Script: `printf '\xf0\x00\xff ok'`})
	if want := "\uFFFD\x00\uFFFD ok"; string(r.Output) != want {
		t.Errorf("binary output came as %q, want %q", r.Output, want)
	}
	r = s.exec(t, sandbox.Command{Script: `yes "zażółć" | head -c 50000000; echo; echo END`, Head: 1001, Tail: 2000})
	out := string(r.Output)
	switch {
	case !utf8.ValidString(out) || strings.ContainsRune(out, utf8.RuneError):
		t.Errorf("cut output is not clean: %q", out)
	case len(out) > 3200:
		t.Errorf("output of %d bytes, bound is 3001 and the marker", len(out))
	case !strings.HasPrefix(out, "zażółć\n") || !strings.HasSuffix(out, "\nEND\n"):
		t.Errorf("head or tail is missing: %q", out)
	case r.Dropped < 49_990_000 || r.Dropped > 50_000_005:
		t.Errorf("Dropped = %d", r.Dropped)
	}
	if kept := int64(len(out)-len(marker(out))) + r.Dropped; kept != 50_000_005 {
		t.Errorf("kept and dropped bytes add up to %d, want 50000005", kept)
	}
	r = s.exec(t, sandbox.Command{Script: "head -c 3000 /dev/zero | tr '\\0' x", Head: 1000, Tail: 2000})
	if string(r.Output) != strings.Repeat("x", 3000) || r.Dropped != 0 {
		t.Errorf("output of just the bound was cut: %d bytes, dropped %d", len(r.Output), r.Dropped)
	}
	r = s.exec(t, sandbox.Command{Script: "seq 1 200000"})
	if len(r.Output) > sandbox.DefaultHead+sandbox.DefaultTail+100 || r.Dropped == 0 || !strings.HasSuffix(string(r.Output), "\n200000\n") {
		t.Errorf("by default: %d bytes, dropped %d", len(r.Output), r.Dropped)
	}
}

// marker is the line that names the dropped bytes, with what was added to make
// it a line.
func marker(out string) string {
	for line := range strings.Lines(out) {
		if strings.Contains(line, "dropped") {
			if i := strings.Index(out, line); i > 0 && out[i-1] == '\n' && !strings.HasSuffix(out[:i], "zażółć\n") {
				return "\n" + line
			}
			return line
		}
	}
	return ""
}

func testEnvironment(t *testing.T, s *session) {
	out := s.sh(t, `env; tr '\0' '\n' </proc/$PPID/environ; tr '\0' '\n' </proc/$$/environ`)
	if strings.Contains(out, canaryValue) || strings.Contains(out, canary) {
		t.Errorf("commands see a key of the program: %s", out)
	}
	if out := s.sh(t, `echo "$TERM"; [ -d "$HOME" ] && [ -w "$HOME" ] && echo home; ls / >/dev/null && echo path`); out != "dumb\nhome\npath\n" {
		t.Errorf("base environment: %q", out)
	}
	r := s.exec(t, sandbox.Command{Script: "export A=1"})
	out = string(s.exec(t, sandbox.Command{Script: "env", Shell: r.Shell}).Output)
	if strings.Contains(out, canaryValue) || !strings.Contains(out, "\nA=1\n") && !strings.HasPrefix(out, "A=1\n") {
		t.Errorf("environment of a second shell: %s", out)
	}
}

func testConcurrent(t *testing.T, s *session) {
	const n = 32
	type answer struct {
		i   int
		r   sandbox.Result
		err error
	}
	answers := make(chan answer)
	for i := range n {
		c := sandbox.Command{Key: s.key(), Script: "for k in 1 2 3; do echo $N; done; exit $N", Timeout: time.Minute,
			Shell: sandbox.Shell{Env: "export N=" + string(rune('0'+i%10)) + "\nexport PATH=/usr/bin:/bin\n"}}
		go func() {
			r, err := s.box.Exec(t.Context(), c)
			answers <- answer{i, r, err}
		}()
	}
	for range n {
		a := <-answers
		digit := string(rune('0' + a.i%10))
		if a.err != nil || string(a.r.Output) != strings.Repeat(digit+"\n", 3) || a.r.ExitCode != a.i%10 {
			t.Errorf("command %d: %+v, %v", a.i, a.r, a.err)
		}
	}
}
