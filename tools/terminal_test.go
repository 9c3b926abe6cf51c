package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"hermes-batch/tools/sandbox"
)

func TestTerminalResults(t *testing.T) {
	s := newSession(t)
	for _, c := range []struct{ args, text, status string }{
		{`{"command":"echo hello"}`, `{"output":"hello\n","exit_code":0,"error":null}`, StatusOK},
		{`{"command":"echo out; echo err >&2"}`, `{"output":"out\nerr\n","exit_code":0,"error":null}`, StatusOK},
		{`{"command":"true"}`, `{"output":"","exit_code":0,"error":null}`, StatusOK},
		{`{"command":"exit 3"}`, `{"output":"","exit_code":3,"error":null}`, StatusOK},
		{`{"command":"echo a | grep b"}`, `{"output":"","exit_code":1,"error":null,"exit_code_meaning":"no match"}`, StatusOK},
		{`{"command":"kill -9 $$"}`, `{"output":"","exit_code":137,"error":null,"exit_code_meaning":"killed (SIGKILL), perhaps out of memory"}`, StatusOK},
		{`{"command":"echo 'Error: not really'"}`, `{"output":"Error: not really\n","exit_code":0,"error":null}`, StatusOK},
		{`{"command":"printf '<b>\\033[1mé\\033[0m&'"}`, `{"output":"<b>\u001b[1mé\u001b[0m&","exit_code":0,"error":null}`, StatusOK},
		{`{"command":"printf '\\360\\000\\377 ok'"}`, "{\"output\":\"\uFFFD\\u0000\uFFFD ok\",\"exit_code\":0,\"error\":null}", StatusOK},
		{`{"command":""}`, `{"output":"","exit_code":0,"error":null}`, StatusOK},
		{`{"command":"rm -rf /"}`, `{"output":"","exit_code":-1,"error":"BLOCKED: removing a system folder or the home folder is never run. Do it another way, or leave it out.","status":"blocked"}`, StatusBlocked},
		{`{"command":"true","workdir":"~/x"}`, `{"error":"~/x: ~ is not understood here; give a relative path, or an absolute one inside ` + s.box.Root() + `"}`, StatusError},
		{`{"command":"sleep 9","timeout":601}`, `{"error":"bad arguments for terminal: \"timeout\" must be an integer of at least 1 and at most 600, not 601. Expected: command (required), background, timeout, workdir, pty. Given: command, timeout."}`, StatusBadArguments},
		{`{"command":"sleep 9","background":true,"notify_on_complete":true}`, `{"error":"bad arguments for terminal: \"notify_on_complete\" is not available: nobody is told what a background process does; look with the process tool, whose action wait waits for its end. Expected: command (required), background, timeout, workdir, pty. Given: command, background, notify_on_complete."}`, StatusBadArguments},
		{`{"command":"echo hi","background":false,"pty":false,"watch_patterns":[]}`, `{"output":"hi\n","exit_code":0,"error":null}`, StatusOK},
		{`{"command":"stty size; [ -t 0 ] && [ -t 1 ] && cat; echo end","pty":true}`, `{"output":"30 120\nend\n","exit_code":0,"error":null}`, StatusOK},
		{`{"command":"test -t 1","pty":"false"}`, `{"output":"","exit_code":1,"error":null,"exit_code_meaning":"the condition is false"}`, StatusOK},
		{`{"command":"rm -rf /","background":true,"pty":true}`, `{"output":"","exit_code":-1,"error":"BLOCKED: removing a system folder or the home folder is never run. Do it another way, or leave it out.","status":"blocked"}`, StatusBlocked},
		{`{"command":"true","background":true,"workdir":"none"}`, `{"output":"cd: ` + s.box.Root() + `/none: no such file or directory\n","exit_code":126,"error":null,"exit_code_meaning":"the command cannot be executed, or its folder cannot be entered"}`, StatusOK},
		{`{"cmd":"ls"}`, `{"error":"bad arguments for terminal: unknown \"cmd\"; missing \"command\". Expected: command (required), background, timeout, workdir, pty. Given: cmd."}`, StatusBadArguments},
	} {
		r := s.run(terminal{}, c.args)
		if r.Text != c.text || r.Status != c.status {
			t.Errorf("%s\n got %s %s\nwant %s %s", c.args, r.Status, r.Text, c.status, c.text)
		}
	}
}

func TestTerminalTimeout(t *testing.T) {
	s := newSession(t)
	start := time.Now()
	r := s.run(terminal{}, `{"command":"trap '' TERM; echo a; sleep 100","timeout":"1"}`)
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("took %v", took)
	}
	if want := `{"output":"a\n[Command timed out after 1s]","exit_code":124,"error":null}`; r.Text != want || r.Status != StatusTimeout {
		t.Errorf("got %s %s\nwant %s", r.Status, r.Text, want)
	}
	if r := s.run(terminal{}, `{"command":"printf b; sleep 100","timeout":1}`); textField(t, r, "output") != "b\n[Command timed out after 1s]" {
		t.Errorf("got %s", r.Text)
	}
}

// The shell state goes from call to call; a workdir is for one call alone.
func TestTerminalShellState(t *testing.T) {
	s := newSession(t)
	output := func(args string) string {
		t.Helper()
		return textField(t, s.run(terminal{}, args), "output")
	}
	s.run(terminal{}, `{"command":"mkdir -p sub/deep && cd sub && export COLOUR=blue"}`)
	if got := output(`{"command":"echo $COLOUR; pwd"}`); got != "blue\n"+filepath.Join(s.box.Root(), "sub")+"\n" {
		t.Errorf("got %q", got)
	}
	if got := output(`{"command":"pwd; export SHAPE=round","workdir":"deep"}`); got != filepath.Join(s.box.Root(), "sub/deep")+"\n" {
		t.Errorf("got %q", got)
	}
	if got := output(`{"command":"pwd; echo $SHAPE"}`); got != filepath.Join(s.box.Root(), "sub")+"\nround\n" {
		t.Errorf("got %q", got)
	}
	if got := output(`{"command":"pwd","workdir":"/tmp"}`); got != "/tmp\n" {
		t.Errorf("got %q", got)
	}
	if r := s.run(terminal{}, `{"command":"pwd","workdir":"missing"}`); field(t, r, "exit_code") != "126" || !strings.Contains(r.Text, "missing") {
		t.Errorf("got %s", r.Text)
	}
	s.run(terminal{}, `{"command":"true"}`)
	if r := s.run(terminal{}, `{"command":"true"}`); r.Shell != nil {
		t.Errorf("a command without effect changed the shell state: %+v", *r.Shell)
	}
	// File tools start where the shell is.
	s.run(writeFile{}, `{"path":"here.txt","content":"x"}`)
	if got := s.read("sub/here.txt"); got != "x" {
		t.Errorf("got %q", got)
	}
}

func TestTerminalLongOutput(t *testing.T) {
	s := newSession(t)
	r := s.run(terminal{}, `{"command":"echo begin; yes zażółć | head -c 5000000; echo; echo end"}`)
	output := textField(t, r, "output")
	if !utf8.ValidString(output) || !strings.HasPrefix(output, "begin\n") || !strings.HasSuffix(output, "\nend\n") {
		t.Errorf("got %.30q … %q", output, output[len(output)-30:])
	}
	if len(output) > outputLimit+100 || len(output) < outputLimit-100 {
		t.Errorf("output has %d bytes", len(output))
	}
	if r.Dropped < 4_900_000 || !strings.Contains(output, fmt.Sprint(r.Dropped)) {
		t.Errorf("%d bytes dropped; the output does not say so", r.Dropped)
	}
}

// Bytes that JSON writes as six do not make the result longer than any other.
func TestTerminalBinaryOutput(t *testing.T) {
	s := newSession(t)
	r := s.run(terminal{}, `{"command":"head -c 1000000 /dev/zero"}`)
	if len(r.Text) > resultLimit || r.Dropped < 900_000 {
		t.Errorf("%d bytes, %d dropped", len(r.Text), r.Dropped)
	}
}

// What a command leaves in the background does not hold it up, and lives on.
func TestTerminalBackgroundChild(t *testing.T) {
	s := newSession(t)
	start := time.Now()
	s.run(terminal{}, `{"command":"mkfifo go; nohup sh -c 'cat go > got' >/dev/null 2>&1 & disown; echo started"}`)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	r := s.run(terminal{}, `{"command":"echo late > go; while ! grep -q late got; do sleep 0.01; done; cat got","timeout":20}`)
	if textField(t, r, "output") != "late\n" {
		t.Errorf("the background process is gone: %s", r.Text)
	}
}

// Whatever a command leaves behind, its call returns in time, and closing the sandbox ends it.
func TestTerminalLeavesNothing(t *testing.T) {
	s := newSession(t)
	ways := []string{"", `,"pty":true`, `,"background":true`, `,"background":true,"pty":true`}
	var all sync.WaitGroup
	for _, command := range []struct {
		script  string
		timeout int
	}{
		{`sleep 300 & echo started`, 30},
		{`setsid sh -c 'trap "" TERM HUP; sleep 300; sleep 300' & echo started`, 30},
		{`trap "" TERM HUP; sleep 300; sleep 300`, 1},
		{`head -c 50000000 /dev/zero | tr '\\0' x; echo`, 30},
		{`for i in $(seq 100); do sleep 300 & done; echo started`, 30},
		{`env -i setsid sleep 300 & echo started`, 30},
	} {
		for _, way := range ways {
			c := s.call(fmt.Sprintf(`{"command":%s,"timeout":%d%s}`, encode(command.script), command.timeout, way))
			all.Go(func() {
				start := time.Now()
				r, err := Run(context.Background(), terminal{}, c)
				if took := time.Since(start); err != nil || took > 30*time.Second {
					t.Errorf("%s: %.200s, %v after %v", c.Args, r.Text, err, took)
				}
			})
		}
	}
	all.Wait()
	if n := len(s.survivors()); n < 100 {
		t.Errorf("only %d processes were left running", n)
	}
	if err := s.box.Close(context.Background(), false); err != nil {
		t.Error(err)
	}
	if left := s.survivors(); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
}

func TestTerminalInterrupted(t *testing.T) {
	s := newSession(t)
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_, err := Run(ctx, terminal{}, s.call(`{"command":"sleep 100"}`))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestTerminalLostSandbox(t *testing.T) {
	s := newSession(t)
	if err := s.box.Close(context.Background(), true); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool Tool
		args string
	}{
		{terminal{}, `{"command":"true"}`},
		{readFile{}, `{"path":"a"}`},
		{writeFile{}, `{"path":"a","content":""}`},
		{process{}, `{"action":"list"}`},
		{process{}, `{"action":"poll","session_id":"proc_x"}`},
	} {
		if r, err := Run(context.Background(), c.tool, s.call(c.args)); !errors.Is(err, sandbox.ErrClosed) {
			t.Errorf("%s: %s, %v", c.tool.Spec().Name, r.Text, err)
		}
	}
}

func TestTerminalSeesNoKeys(t *testing.T) {
	t.Setenv("OPENROUTER_API_KEY", "sk-secret-secret")
	s := newSession(t)
	r := s.run(terminal{}, `{"command":"env; tr '\\0' '\\n' < /proc/$PPID/environ"}`)
	if strings.Contains(r.Text, "sk-secret") || !strings.Contains(r.Text, "PATH=") {
		t.Errorf("got %s", r.Text)
	}
	if os.Getenv("OPENROUTER_API_KEY") == "" {
		t.Error("the test sets no key")
	}
}

func TestExitMeaning(t *testing.T) {
	for _, c := range []struct {
		script string
		code   int
		want   string
	}{
		{"grep x f", 1, "no match"},
		{"grep x f", 2, ""},
		{"grep x f", 0, ""},
		{"cat f | sort | grep -c x", 1, "no match"},
		{"cd /tmp && LC_ALL=C sudo -u me /usr/bin/diff a b", 1, "the files differ"},
		{"if true; then grep x; fi", 1, ""},
		{"echo 'grep x'", 1, ""},
		{"echo a\n[ -f x ]", 1, "the condition is false"},
		{"[[ -f x ]]", 1, "the condition is false"},
		{"timeout -s KILL 5 curl -s http://x", 7, "could not connect to the host"},
		{"find / -name x", 1, "some folders could not be read"},
		{"git diff --exit-code", 1, "for git diff and git grep: there are differences, or no match"},
		{"nonsense", 127, "command not found"},
		{"./a.out", 139, "segmentation fault (SIGSEGV)"},
		{"./a.out", 134, "ended by signal 6"},
		{"python x.py", 1, ""},
		{"", 1, ""},
		{"((", 2, ""},
	} {
		if got := exitMeaning(c.script, c.code); got != c.want {
			t.Errorf("%q %d: %q, want %q", c.script, c.code, got, c.want)
		}
	}
}
