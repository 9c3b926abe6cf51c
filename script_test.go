package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var updateScripts = flag.Bool("update", false, "write the texts that scripts compare with")

// patience is how long a script waits for what must happen.
const patience = 20 * time.Second

// TestScripts runs the scripts of testdata/script: the program as users run it,
// in a folder of its own, with a home that does not exist and no keys. Beside the
// commands of the testscript package they have:
//
//	exits CODE ARGS…         runs the program, which must end with CODE
//	within TIME CODE ARGS…   the same, and it must end in that time
//	refuses PATTERN ARGS…    the program must end with code 2 and one line on
//	                         stderr that matches, change no file and send no request
//	start NAME ARGS…         starts the program; $NAME is its process id
//	says NAME PATTERN        waits until its stderr matches
//	signal NAME INT|TERM|KILL
//	ends NAME CODE           waits for it; its output is stdout and stderr then
//
// those of script_model_test.go for the model, and those of
// script_files_test.go for files.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		Setup:               setupScript,
		Cmds:                scriptCommands(),
		Condition:           scriptCondition,
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		UpdateScripts:       *updateScripts,
	})
}

type scriptCommand = func(ts *testscript.TestScript, neg bool, args []string)

func scriptCommands() map[string]scriptCommand {
	return map[string]scriptCommand{
		"exits": cmdExits, "within": cmdWithin, "refuses": cmdRefuses,
		"start": cmdStart, "says": cmdSays, "signal": cmdSignal, "ends": cmdEnds,
		"model": cmdModel, "requests": cmdRequests, "await": cmdAwait, "release": cmdRelease, "sent": cmdSent, "authorized": cmdAuthorized,
		"serves": cmdServes, "ask": cmdAsk,
		"keep": cmdKeep, "same": cmdSame, "appears": cmdAppears, "rows": cmdRows, "corrupt": cmdCorrupt, "nowhere": cmdNowhere, "tmpfs": cmdTmpfs, "fill": cmdFill,
	}
}

// scriptKey finds a script in the values of testscript.
type scriptKey struct{}

// script is what belongs to one script.
type script struct {
	endpoint *endpoint // nil: none was started
	programs map[string]*scriptProgram
	kept     map[string]tree
	patterns map[string][]string // of what is kept
	env      []string            // at the start
}

func scriptOf(ts *testscript.TestScript) *script { return ts.Value(scriptKey{}).(*script) }

// setupScript makes a command "hermes-batch" that is this test binary.
func setupScript(env *testscript.Env) error {
	bin := filepath.Join(env.WorkDir, ".bin")
	if err := os.Mkdir(bin, 0o777); err != nil {
		return err
	}
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	text := fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", asProgram, binary)
	syscall.ForkLock.RLock() // a child of another script would keep the file open, which then cannot be executed
	err = os.WriteFile(filepath.Join(bin, "hermes-batch"), []byte(text), 0o777)
	syscall.ForkLock.RUnlock()
	if err != nil {
		return err
	}
	env.Setenv("PATH", bin+":"+env.Getenv("PATH"))
	env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, ".state"))
	if os.Getenv("GORACE") == "" {
		env.Setenv("GORACE", "atexit_sleep_ms=20") // of the race detector; a second by default
	}
	env.Values[scriptKey{}] = &script{programs: map[string]*scriptProgram{}, kept: map[string]tree{}, patterns: map[string][]string{}, env: slices.Clone(env.Vars)}
	return nil
}

// exitCode is that of a program that ran; -1 after a signal.
func exitCode(ts *testscript.TestScript, err error) int {
	if failed, ok := err.(*exec.ExitError); ok {
		return failed.ExitCode()
	}
	ts.Check(err)
	return 0
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: exits CODE ARGS…")
	}
	if got := exitCode(ts, ts.Exec("hermes-batch", args[1:]...)); strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, expected %s", got, args[0])
	}
}

func cmdWithin(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: within TIME CODE ARGS…")
	}
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	began := time.Now()
	cmdExits(ts, false, args[1:])
	if took := time.Since(began); took > limit {
		ts.Fatalf("it took %v", took)
	}
}

func cmdRefuses(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: refuses PATTERN ARGS…")
	}
	before, asked := readTree(ts, ts.MkAbs(".")), scriptOf(ts).endpoint.count()
	cmdExits(ts, false, append([]string{"2"}, args[1:]...))
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("stdout is not empty: %s", out)
	}
	message := ts.ReadFile("stderr")
	if strings.Count(message, "\n") != 1 || !strings.HasPrefix(message, "hermes-batch: ") {
		ts.Fatalf("stderr is not one line of the program")
	}
	mustMatch(ts, args[0], message)
	if diff := before.differences(readTree(ts, ts.MkAbs("."))); diff != "" {
		ts.Fatalf("it changed files: %s", diff)
	}
	if now := scriptOf(ts).endpoint.count(); now != asked {
		ts.Fatalf("it sent %d requests", now-asked)
	}
}

func mustMatch(ts *testscript.TestScript, pattern, text string) {
	if !compile(ts, pattern).MatchString(text) {
		ts.Fatalf("no match for %q in %q", pattern, text)
	}
}

// scriptProgram is the program, running beside a script.
type scriptProgram struct {
	*exec.Cmd
	out, err syncBuffer
	done     chan struct{}
}

// passedOn are variables of scripts that started programs get too.
var passedOn = []string{"HERMES_BATCH_BASE_URL", "OPENROUTER_API_KEY", "OPENAI_API_KEY", "NOUS_API_KEY"}

func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: start NAME ARGS…")
	}
	s, p := scriptOf(ts), &scriptProgram{Cmd: exec.Command(ts.MkAbs(ts.Getenv("WORK")+"/.bin/hermes-batch"), args[1:]...), done: make(chan struct{})}
	p.Dir, p.Stdout, p.Stderr = ts.MkAbs("."), &p.out, &p.err
	p.Env = slices.Clone(s.env)
	for _, name := range passedOn {
		if value := ts.Getenv(name); value != "" {
			p.Env = append(p.Env, name+"="+value)
		}
	}
	ts.Check(p.Start())
	s.programs[args[0]] = p
	go func() { _ = p.Wait(); close(p.done) }()
	ts.Defer(func() { _ = p.Process.Kill(); <-p.done })
	ts.Setenv(args[0], strconv.Itoa(p.Process.Pid))
}

func cmdSays(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: says NAME PATTERN")
	}
	p, pattern := programOf(ts, args[0]), compile(ts, args[1])
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if pattern.MatchString(p.err.String()) {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("stderr does not match: %s", p.err.String())
		}
	}
}

func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}
	if neg || len(args) != 2 || signals[args[1]] == 0 {
		ts.Fatalf("usage: signal NAME INT|TERM|KILL")
	}
	ts.Check(programOf(ts, args[0]).Process.Signal(signals[args[1]]))
}

func cmdEnds(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: ends NAME CODE")
	}
	p := programOf(ts, args[0])
	select {
	case <-p.done:
	case <-time.After(patience):
		ts.Fatalf("it does not end")
	}
	fmt.Fprint(ts.Stdout(), p.out.String())
	fmt.Fprint(ts.Stderr(), p.err.String())
	if got := p.ProcessState.ExitCode(); strconv.Itoa(got) != args[1] {
		ts.Fatalf("exit code %d, expected %s", got, args[1])
	}
}

func programOf(ts *testscript.TestScript, name string) *scriptProgram {
	p := scriptOf(ts).programs[name]
	if p == nil {
		ts.Fatalf("no program %q was started", name)
	}
	return p
}
