package sandbox

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The program is killed in the middle of a command: the supervisor finishes
// it, and the next session of the program takes its result.
func TestRecallAfterKill(t *testing.T) {
	base := filepath.Join(t.TempDir(), "box")
	nonce, kill := startProgram(t, base, "mkdir sub; cd sub; export A=1; touch ../ready; sleep 0.5; echo once >>../log; echo out; exit 3")
	until(t, "the command runs", there(base, "work", "ready"))
	kill()
	l := open(t, LocalOptions{Base: base, Nonce: nonce})
	if got := content(t, base, "work", "log"); got != "" {
		t.Logf("the command ended before it was recalled: %q", got)
	}
	r, state, err := l.Recall(t.Context(), "0")
	if err != nil || state != CallDone {
		t.Fatalf("Recall = %v, %v; want CallDone", state, err)
	}
	if string(r.Output) != "out\n" || r.ExitCode != 3 || !r.Recovered || r.Shell.Cwd != filepath.Join(l.Root(), "sub") {
		t.Errorf("Recall = %+v, output %q", r, r.Output)
	}
	if got := content(t, base, "work", "log"); got != "once\n" {
		t.Errorf("log holds %q, want one line", got)
	}
	if _, state, err := l.Recall(t.Context(), "1"); state != CallNever || err != nil {
		t.Errorf("Recall of the next call = %v, %v; want CallNever", state, err)
	}
	if r := mustRun(t, l, "1", "echo next"); string(r.Output) != "next\n" {
		t.Errorf("the next command: %+v", r)
	}
}

// Whenever the program is killed: what is said of the call is what happened.
func TestKillAtAnyMoment(t *testing.T) {
	said := map[CallState]int{}
	for i := range killRounds {
		base := filepath.Join(t.TempDir(), "box")
		nonce, kill := startProgram(t, base, "sleep 0.01; echo once >>log")
		time.Sleep(time.Duration(i%15) * time.Millisecond)
		kill()
		l := open(t, LocalOptions{Base: base, Nonce: nonce})
		_, state, err := l.Recall(t.Context(), "0")
		said[state]++
		switch log := content(t, base, "work", "log"); {
		case err != nil:
			t.Error(err)
		case state == CallDone && log != "once\n", state == CallNever && log != "":
			t.Errorf("round %d: state %v, log %q", i, state, log)
		case state == CallLost:
			t.Errorf("round %d: lost, though its supervisor lived", i)
		case state == CallNever:
			mustRun(t, l, "0", "echo once >>log")
			if log := content(t, base, "work", "log"); log != "once\n" {
				t.Errorf("round %d: run anew, log %q", i, log)
			}
		}
	}
	t.Logf("never begun %d times, done %d times", said[CallNever], said[CallDone])
}

// killRounds is how often the program is killed.
const killRounds = 15

// The supervisor is killed as well: nobody knows what the command did, and
// nothing of it runs on.
func TestRecallWithoutSupervisor(t *testing.T) {
	base := filepath.Join(t.TempDir(), "box")
	nonce, kill := startProgram(t, base, `
		setsid sh -c 'echo $$ >session; exec sleep 300' &
		env -i sh -c 'echo $$ >bare; exec sleep 300' &
		(trap "" TERM HUP INT; echo $BASHPID >stubborn; sleep 300; sleep 300) &
		echo $$ >shell; until [ -s session ] && [ -s bare ] && [ -s stubborn ]; do sleep 0.01; done
		touch ready; sleep 300; echo once >>log`)
	until(t, "the command runs", there(base, "work", "ready"))
	kill()
	r, begun, err := call{filepath.Join(base, "calls", "0")}.read()
	if err != nil || !begun {
		t.Fatalf("no record: %v", err)
	}
	if err := unix.Kill(r.Pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	l := open(t, LocalOptions{Base: base, Nonce: nonce})
	if _, state, err := l.Recall(t.Context(), "0"); state != CallLost || err != nil {
		t.Errorf("Recall = %v, %v; want CallLost", state, err)
	}
	for _, name := range []string{"session", "bare", "stubborn", "shell"} {
		if alive(t, base, "work", name) {
			t.Errorf("process %q still runs", name)
		}
	}
	if there(base, "work", "log")() {
		t.Error("the command went on")
	}
}

// A background process of a finished command outlives the program, is there
// for the next session of it, and ends with the sandbox.
func TestBackgroundAfterKill(t *testing.T) {
	base := filepath.Join(t.TempDir(), "box")
	nonce, kill := startProgram(t, base, "sleep 300 & echo $! >pid; echo started", "touch ready; sleep 300")
	until(t, "the second command runs", there(base, "work", "ready"))
	kill()
	l := open(t, LocalOptions{Base: base, Nonce: nonce})
	r, state, err := l.Recall(t.Context(), "0")
	if state != CallDone || err != nil || string(r.Output) != "started\n" {
		t.Errorf("Recall = %+v, %v, %v", r, state, err)
	}
	if !alive(t, base, "work", "pid") {
		t.Error("the background process did not outlive the program")
	}
	// Waiting for the second command ends with the context.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := l.Recall(ctx, "1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Recall = %v, want DeadlineExceeded", err)
	}
	start := time.Now()
	if err := l.Close(t.Context(), false); err != nil {
		t.Errorf("Close: %v", err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("Close took %v", took)
	}
	if alive(t, base, "work", "pid") {
		t.Error("the background process outlived the sandbox")
	}
	l = open(t, LocalOptions{Base: base, Nonce: nonce})
	if _, state, err := l.Recall(t.Context(), "1"); state != CallLost || err != nil {
		t.Errorf("Recall of the ended command = %v, %v; want CallLost", state, err)
	}
}

// Between the start of a supervisor and its first line in the record the call
// is neither begun nor never to begin.
func TestRecallWaitsForStart(t *testing.T) {
	l := open(t, LocalOptions{})
	c, err := l.call("0")
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.open()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, state, err := l.Recall(ctx, "0"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Recall = %v, %v; want to wait", state, err)
	}
	if _, err := l.Exec(t.Context(), Command{Key: "0", Script: "true"}); !errors.Is(err, ErrBusy) {
		t.Errorf("Exec under the same key = %v, want ErrBusy", err)
	}
	f.Close()
	if _, state, err := l.Recall(t.Context(), "0"); state != CallNever || err != nil {
		t.Errorf("Recall = %v, %v; want CallNever", state, err)
	}
}

// After a restart of the machine pids mean nothing.
func TestRecallAfterReboot(t *testing.T) {
	base := filepath.Join(t.TempDir(), "box")
	first, err := OpenLocal(LocalOptions{Base: base})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	// A record of an earlier boot whose group is now another one's: this test's.
	write(t, filepath.Join(base, "calls", "0"), `{"Pid":1,"Start":1,"Boot":"another-boot","Space":"`+pidSpace()+`"}
{"Group":`+strconv.Itoa(unix.Getpgrp())+`,"GroupStart":0}
`, 0o600)
	l := open(t, LocalOptions{Base: base, Nonce: first.Nonce()})
	for key, want := range map[string]CallState{"0": CallLost, "never": CallNever} {
		if _, state, err := l.Recall(t.Context(), key); state != want || err != nil {
			t.Errorf("Recall(%s) = %v, %v; want %v", key, state, err, want)
		}
	}
}

func TestParseRecord(t *testing.T) {
	whole := `{"Pid":7,"Start":9,"Boot":"b"}
{"Group":8}
{"Result":{"Output":"aGk=","ExitCode":3}}
`
	for name, test := range map[string]struct {
		text string
		want func(record) bool
	}{
		"empty":       {"", func(r record) bool { return r == record{} }},
		"begun":       {whole[:30], func(r record) bool { return r.Pid == 7 && r.Start == 9 && r.Boot == "b" && r.Group == 0 }},
		"torn result": {whole[:len(whole)-5], func(r record) bool { return r.Pid == 7 && r.Group == 8 && r.Result == nil }},
		"result": {whole, func(r record) bool {
			return r.Result != nil && r.Result.ExitCode == 3 && string(r.Result.Output) == "hi" && !r.Ended
		}},
		"ended": {whole + `{"Ended":true}`, func(r record) bool { return r.Result != nil && r.Ended && r.Pid == 7 }},
		"zeros": {whole + strings.Repeat("\x00", 9), func(r record) bool { return r.Result != nil && !r.Ended }},
	} {
		if r := parseRecord([]byte(test.text)); !test.want(r) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add([]byte(`{"Pid":7}` + "\n" + `{"Result":{"ExitCode":3}}` + "\n"))
	f.Add([]byte(`{"Pid":"x"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := parseRecord(b)
		// A line that is cut off changes nothing.
		if again := parseRecord(append(append([]byte(nil), b...), "\n{\"Ended\":tr"...)); again.Pid != r.Pid || again.Ended != r.Ended {
			t.Errorf("%+v, then %+v", r, again)
		}
	})
}
