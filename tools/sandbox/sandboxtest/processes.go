package sandboxtest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes-batch/tools/sandbox"
)

func testTimeout(t *testing.T, s *session) {
	const timeout = 2 * time.Second
	var all sync.WaitGroup
	for _, test := range []struct {
		name, script, output string
	}{
		{"plain", "echo $$ >pids; echo a; sleep 100", "a\n"},
		{"ignores TERM", `trap "" TERM; echo $$ >pids; echo a; sleep 100; sleep 100`, "a\n"},
		{"handles TERM", `trap "echo got TERM; exit 5" TERM; echo $$ >pids; echo a; sleep 100 & wait`, "a\ngot TERM\n"},
		{"busy", `echo $$ >pids; echo a; while :; do :; done`, "a\n"},
		{"own session", `echo a; setsid sh -c 'echo $$ >pids; trap "" TERM; sleep 100; sleep 100' & sleep 100`, "a\n"},
		{"double fork", `echo a; (setsid sh -c 'trap "" TERM; sleep 100 & echo $! >pids; sleep 100 & echo $! >>pids' &) ; sleep 100`, "a\n"},
		{"clean environment", `echo a; env -i setsid /bin/sh -c 'echo $$ >pids; trap "" TERM; while :; do sleep 1; done' & sleep 100`, "a\n"},
		{"many", `echo a; i=0; while [ $i -lt 100 ]; do i=$((i+1)); setsid sh -c 'trap "" TERM; echo $$ >>pids; sleep 100; sleep 100' & done; sleep 100`, "a\n"},
		{"stopped", `echo $$ >pids; echo a; kill -STOP $$`, "a\n"},
	} {
		s.sh(t, "mkdir '"+test.name+"'")
		// All at once, since they mostly wait.
		all.Go(func() {
			start := time.Now()
			c := sandbox.Command{Key: s.key(), Script: test.script, Dir: test.name, Timeout: timeout, Grace: 300 * time.Millisecond}
			r, err := s.box.Exec(t.Context(), c)
			if took := time.Since(start); took > timeout+6*time.Second {
				t.Errorf("%s: took %v", test.name, took)
			}
			if err != nil || !r.TimedOut || r.ExitCode != 124 || string(r.Output) != test.output {
				t.Errorf("%s: %+v, output %q, %v", test.name, r, r.Output, err)
			}
		})
	}
	all.Wait()
	if left := s.alive(t, "*/pids"); left != "" {
		t.Errorf("still running: %s", left)
	}
	if n := s.sh(t, "cat */pids | wc -l"); len(strings.TrimSpace(n)) < 3 {
		t.Errorf("only %s processes told their pid", n)
	}
}

func testTimeoutState(t *testing.T, s *session) {
	r := s.exec(t, sandbox.Command{Script: "mkdir in; cd in; export A=1; sleep 100", Timeout: time.Second})
	r = s.exec(t, sandbox.Command{Script: "echo $A; basename $(pwd)", Shell: r.Shell})
	if string(r.Output) != "1\nin\n" {
		t.Errorf("after a timeout the next shell prints %q", r.Output)
	}
}

func testBackground(t *testing.T, s *session) {
	for _, script := range []string{
		"sleep 300 & echo $! >>pids; echo started",
		"(sleep 300 & echo $! >>pids); echo started",
		"setsid sh -c 'echo $$ >>pids; exec sleep 300' >/dev/null 2>&1 & sleep 0.1; echo started",
		"yes >/dev/null & echo $! >>pids; echo started",
	} {
		start := time.Now()
		r := s.exec(t, sandbox.Command{Script: script})
		if string(r.Output) != "started\n" || r.ExitCode != 0 || r.TimedOut {
			t.Errorf("%q: %+v, output %q", script, r, r.Output)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%q held the call for %v", script, took)
		}
	}
	if left := strings.Fields(s.alive(t, "pids")); len(left) != 4 {
		t.Errorf("of four background processes %v run", left)
	}
	// One that floods the pipe after its call has ended must not be held up.
	s.sh(t, "(while :; do echo flood; done) & echo $! >flood")
	if s.alive(t, "flood") == "" {
		t.Error("a background process died of its output")
	}
}

func testCancel(t *testing.T, s *session) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	key := s.key()
	failed := make(chan error, 1)
	go func() {
		_, err := s.box.Exec(ctx, sandbox.Command{Key: key, Script: "sleep 100 & echo $! >pids; echo $$ >>pids; mv pids ready; wait"})
		failed <- err
	}()
	eventually(t, "the command runs", exists(s.box.Files(), "ready"))
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("Exec = %v, want context.Canceled", err)
	}
	if left := s.alive(t, "ready"); left != "" {
		t.Errorf("still running: %s", left)
	}
	if r, state, err := s.box.Recall(t.Context(), key); state != sandbox.CallLost || err != nil {
		t.Errorf("Recall = %+v, %v, %v; want CallLost", r, state, err)
	}
	// The same call may then be run again.
	if r := s.exec(t, sandbox.Command{Key: key, Script: "echo again"}); string(r.Output) != "again\n" {
		t.Errorf("run again: %+v", r)
	}
	if r, state, err := s.box.Recall(t.Context(), key); state != sandbox.CallDone || string(r.Output) != "again\n" || err != nil {
		t.Errorf("Recall after that = %+v, %v, %v", r, state, err)
	}
	unused := s.key()
	if _, err := s.box.Exec(ctx, sandbox.Command{Key: unused, Script: "true"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Exec with an ended context = %v", err)
	}
	if _, state, err := s.box.Recall(t.Context(), unused); state != sandbox.CallNever || err != nil {
		t.Errorf("Recall of that = %v, %v; want CallNever", state, err)
	}
}

func testRecall(t *testing.T, s *session) {
	if _, state, err := s.box.Recall(t.Context(), "0-9-9"); state != sandbox.CallNever || err != nil {
		t.Errorf("a call that never was: %v, %v", state, err)
	}
	key := s.key()
	done := s.exec(t, sandbox.Command{Key: key, Script: "echo é; export A=1; cd /; sleep 300 & exit 3"})
	for range 2 {
		r, state, err := s.box.Recall(t.Context(), key)
		if err != nil || state != sandbox.CallDone || !r.Recovered {
			t.Fatalf("Recall = %+v, %v, %v", r, state, err)
		}
		r.Recovered = false
		if string(r.Output) != string(done.Output) || r.ExitCode != 3 || r.Shell != done.Shell || r.Took != done.Took {
			t.Errorf("Recall = %+v, Exec said %+v", r, done)
		}
	}
	key = s.key()
	for range 2 {
		if err := s.box.Begin(key); err != nil {
			t.Fatalf("Begin: %v", err)
		}
	}
	if _, state, err := s.box.Recall(t.Context(), key); state != sandbox.CallLost || err != nil {
		t.Errorf("a call that was only begun: %v, %v", state, err)
	}
	if err := s.box.Begin("a/b"); err == nil {
		t.Error("Begin took a bad key")
	}
	if _, _, err := s.box.Recall(t.Context(), ".."); err == nil {
		t.Error("Recall took a bad key")
	}
}

func testClose(t *testing.T, s *session) {
	s.sh(t, "sleep 300 & echo x >file")
	id := s.start(t, sandbox.Command{Script: "sleep 300"}).ID
	for _, remove := range []bool{false, false, true, true} {
		if err := s.box.Close(t.Context(), remove); err != nil {
			t.Fatalf("Close(%v): %v", remove, err)
		}
	}
	_, execErr := s.box.Exec(t.Context(), sandbox.Command{Key: s.key(), Script: "true"})
	_, _, recallErr := s.box.Recall(t.Context(), "0-1-1")
	_, listJobsErr := s.box.Jobs().List(t.Context())
	_, waitErr := s.box.Jobs().Wait(t.Context(), id, 0)
	_, writeJobErr := s.box.Jobs().Write(t.Context(), id, nil, true)
	_, killErr := s.box.Jobs().Kill(t.Context(), id)
	_, keepErr := s.box.Keep(s.key(), []byte("x"))
	files := s.box.Files()
	_, readErr := files.ReadFile("file", 10)
	_, openErr := files.Open("file")
	_, writeErr := files.WriteFile("file", nil)
	_, statErr := files.Stat("file")
	_, listErr := files.ReadDir(".")
	for name, err := range map[string]error{
		"Exec": execErr, "Recall": recallErr, "Keep": keepErr, "Begin": s.box.Begin(s.key()), "ReadFile": readErr, "Open": openErr,
		"Jobs.List": listJobsErr, "Jobs.Wait": waitErr, "Jobs.Write": writeJobErr, "Jobs.Kill": killErr,
		"WriteFile": writeErr, "Stat": statErr, "ReadDir": listErr, "Remove": files.Remove("file"), "Rename": files.Rename("file", "x"),
	} {
		if !errors.Is(err, sandbox.ErrClosed) {
			t.Errorf("%s after Close = %v, want ErrClosed", name, err)
		}
	}
}

func testCloseEnds(t *testing.T, s *session) {
	failed := make(chan error, 2)
	key := s.key()
	go func() {
		_, err := s.box.Exec(context.WithoutCancel(t.Context()), sandbox.Command{Key: key, Script: "touch ready; sleep 100"})
		failed <- err
	}()
	job := s.start(t, sandbox.Command{Script: `trap "" TERM; sleep 100; sleep 100`, Terminal: true})
	go func() {
		_, err := s.box.Jobs().Wait(context.WithoutCancel(t.Context()), job.ID, time.Minute)
		failed <- err
	}()
	eventually(t, "the command runs", exists(s.box.Files(), "ready"))
	start := time.Now()
	if err := s.box.Close(t.Context(), true); err != nil {
		t.Errorf("Close: %v", err)
	}
	if took := time.Since(start); took > 8*time.Second {
		t.Errorf("Close took %v", took)
	}
	for range 2 {
		if err := <-failed; !errors.Is(err, sandbox.ErrClosed) {
			t.Errorf("Exec or Wait = %v, want ErrClosed", err)
		}
	}
}
