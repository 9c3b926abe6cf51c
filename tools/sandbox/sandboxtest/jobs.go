package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"hermes-batch/tools/sandbox"
)

// start starts a job; an error or a command that does not start fails the test.
func (s *session) start(t *testing.T, c sandbox.Command) sandbox.Job {
	t.Helper()
	c.Background = true
	if c.Key == "" {
		c.Key = s.key()
	}
	r, err := s.box.Exec(t.Context(), c)
	if err != nil || r.Job == nil {
		t.Fatalf("Exec(%.60q) in the background: %+v, %v", c.Script, r, err)
	}
	return *r.Job
}

// job asks how a job stands after at most limit.
func (s *session) job(t *testing.T, id string, limit time.Duration) sandbox.Job {
	t.Helper()
	j, err := s.box.Jobs().Wait(t.Context(), id, limit)
	if err != nil {
		t.Fatalf("Wait(%s): %v", id, err)
	}
	return j
}

// send writes to a job; an error fails the test.
func (s *session) send(t *testing.T, id, text string, last bool) {
	t.Helper()
	if n, err := s.box.Jobs().Write(t.Context(), id, []byte(text), last); n != len(text) || err != nil {
		t.Fatalf("Write(%s, %q) = %d, %v", id, text, n, err)
	}
}

// ended waits for a job's end and compares it.
func (s *session) ended(t *testing.T, id, output string, code int) {
	t.Helper()
	j := s.job(t, id, time.Minute)
	if r := j.Result; j.Running || string(r.Output) != output || r.ExitCode != code || r.TimedOut || r.Killed || r.Dropped != 0 {
		t.Errorf("job %s (%s): %+v, output %q; want %q, %d", id, j.Script, j, r.Output, output, code)
	}
}

func testJob(t *testing.T, s *session) {
	const script = `echo ready; read -r x; echo "got $x"; exit 3`
	key := s.key()
	began := time.Now()
	j := s.start(t, sandbox.Command{Key: key, Script: script})
	if !strings.HasPrefix(j.ID, "proc_") || j.Script != script || j.PID < 2 || j.Running || j.Started.Before(began.Add(-time.Minute)) {
		t.Errorf("started %+v", j)
	}
	if out := s.sh(t, fmt.Sprintf("cd /proc/%d/cwd && pwd -P", j.PID)); out != j.Dir+"\n" {
		t.Errorf("process %d is in %q, want %q", j.PID, out, j.Dir)
	}
	eventually(t, "the output so far", func() bool { return string(s.job(t, j.ID, 0).Result.Output) == "ready\n" })
	if now := s.job(t, j.ID, 50*time.Millisecond); !now.Running || now.Result.Took <= 0 || now.PID != j.PID {
		t.Errorf("a job that runs: %+v", now)
	}
	s.send(t, j.ID, "hel", false)
	s.send(t, j.ID, "lo\n", false)
	s.ended(t, j.ID, "ready\ngot hello\n", 3)
	s.ended(t, j.ID, "ready\ngot hello\n", 3)
	if r, state, err := s.box.Recall(t.Context(), key); state != sandbox.CallDone || err != nil || !r.Recovered || r.Job == nil || r.Job.ID != j.ID || r.Job.PID != j.PID {
		t.Errorf("Recall = %+v, %v, %v", r, state, err)
	}
	if n, err := s.box.Jobs().Write(t.Context(), j.ID, []byte("x"), false); n != 0 || !errors.Is(err, sandbox.ErrInput) {
		t.Errorf("Write after the end = %d, %v; want ErrInput", n, err)
	}
	if end, err := s.box.Jobs().Kill(t.Context(), j.ID); err != nil || end.Running || end.Result.Killed || end.Result.ExitCode != 3 {
		t.Errorf("Kill after the end = %+v, %v", end, err)
	}
}

func testJobInput(t *testing.T, s *session) {
	j := s.start(t, sandbox.Command{Script: "cat; echo end"})
	s.send(t, j.ID, "a", true)
	s.ended(t, j.ID, "aend\n", 0)
	j = s.start(t, sandbox.Command{Script: "exec <&-; echo closed; sleep 300"})
	eventually(t, "input is closed", func() bool { return len(s.job(t, j.ID, 0).Result.Output) > 0 })
	if n, err := s.box.Jobs().Write(t.Context(), j.ID, []byte("x"), false); n != 0 || !errors.Is(err, sandbox.ErrInput) {
		t.Errorf("Write to closed input = %d, %v; want ErrInput", n, err)
	}
	j = s.start(t, sandbox.Command{Script: "sleep 300"})
	s.send(t, j.ID, "x", true)
	if n, err := s.box.Jobs().Write(t.Context(), j.ID, []byte("x"), false); n != 0 || !errors.Is(err, sandbox.ErrInput) {
		t.Errorf("Write after the last = %d, %v; want ErrInput", n, err)
	}
	// One that does not read holds up neither the caller nor other questions.
	j = s.start(t, sandbox.Command{Script: "sleep 300"})
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		n, err := s.box.Jobs().Write(context.WithoutCancel(t.Context()), j.ID, make([]byte, 1<<20), false)
		if n == 0 || n >= 1<<20 || !errors.Is(err, sandbox.ErrInput) {
			t.Errorf("Write of more than is read = %d, %v; want ErrInput", n, err)
		}
	}()
	if now := s.job(t, j.ID, 0); !now.Running {
		t.Errorf("a job that does not read: %+v", now)
	}
	<-wrote
}

func testJobState(t *testing.T, s *session) {
	shell := s.exec(t, sandbox.Command{Script: "mkdir -p in/deep; cd in; export A='x y'"}).Shell
	j := s.start(t, sandbox.Command{Script: `echo "$A"; basename "$(pwd)"; export A=1; cd /`, Dir: "deep", Shell: shell})
	s.ended(t, j.ID, "x y\ndeep\n", 0)
	r, err := s.box.Exec(t.Context(), sandbox.Command{Key: s.key(), Script: "true", Dir: "none", Background: true})
	if err != nil || r.Job != nil || r.ExitCode != 126 || !strings.Contains(string(r.Output), "none") {
		t.Errorf("in a folder that is not there: %+v, output %q, %v", r, r.Output, err)
	}
	j = s.start(t, sandbox.Command{Script: "echo a; sleep 300", Timeout: 500 * time.Millisecond})
	if end := s.job(t, j.ID, time.Minute); end.Running || !end.Result.TimedOut || end.Result.ExitCode != 124 || string(end.Result.Output) != "a\n" {
		t.Errorf("after its timeout: %+v", end)
	}
	out := s.sh(t, "env; ls /proc/self/fd | wc -l")
	j = s.start(t, sandbox.Command{Script: "env; ls /proc/self/fd | wc -l"})
	if end := s.job(t, j.ID, time.Minute); mask(string(end.Result.Output)) != mask(out) {
		t.Errorf("environment of a job:\n%s\nof a command:\n%s", end.Result.Output, out)
	}
}

// mask drops the lines of an environment that differ from call to call.
func mask(env string) string {
	var kept []string
	for line := range strings.Lines(env) {
		if !strings.Contains(line, "SANDBOX=") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

func testJobList(t *testing.T, s *session) {
	if list, err := s.box.Jobs().List(t.Context()); len(list) != 0 || err != nil {
		t.Errorf("List = %v, %v; want none", list, err)
	}
	foreground := s.key()
	s.exec(t, sandbox.Command{Key: foreground, Script: "true"})
	var want []string
	for i := range 12 {
		j := s.start(t, sandbox.Command{Script: fmt.Sprintf("echo %d; sleep %d", i, 300*(i%2))})
		want = append(want, j.ID)
	}
	s.ended(t, want[10], "10\n", 0)
	list, err := s.box.Jobs().List(t.Context())
	if err != nil || len(list) != len(want) {
		t.Fatalf("List = %d jobs, %v; want %d", len(list), err, len(want))
	}
	for i, j := range list {
		if j.ID != want[i] || i%2 == 1 && !j.Running || i == 10 && j.Running {
			t.Errorf("job %d of the list is %+v, want %s", i, j, want[i])
		}
	}
	id, _ := strings.CutSuffix(want[0], "0-1-2")
	for _, none := range []string{"", "proc_", "proc_nope", "nope", "proc_../x", want[0] + "0", strings.TrimPrefix(want[0], "proc_"), id + foreground} {
		jobs := s.box.Jobs()
		_, waitErr := jobs.Wait(t.Context(), none, time.Minute)
		_, writeErr := jobs.Write(t.Context(), none, []byte("x"), true)
		_, killErr := jobs.Kill(t.Context(), none)
		for name, err := range map[string]error{"Wait": waitErr, "Write": writeErr, "Kill": killErr} {
			if !errors.Is(err, sandbox.ErrNoJob) {
				t.Errorf("%s(%q) = %v, want ErrNoJob", name, none, err)
			}
		}
	}
}

func testJobWait(t *testing.T, s *session) {
	j := s.start(t, sandbox.Command{Script: "sleep 300"})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := s.box.Jobs().Wait(ctx, j.ID, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait with a context that ends = %v", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	if _, err := s.box.Exec(ctx, sandbox.Command{Key: s.key(), Script: "true", Background: true}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Exec with an ended context = %v", err)
	}
	if now := s.job(t, j.ID, 0); !now.Running {
		t.Errorf("after that: %+v", now)
	}
}

func testJobOutput(t *testing.T, s *session) {
	flood := s.start(t, sandbox.Command{Script: "exec yes"})
	j := s.start(t, sandbox.Command{Script: `echo begin; yes "zażółć" | head -c 50000000; echo; echo end`})
	r := s.job(t, j.ID, time.Minute).Result
	if !utf8.Valid(r.Output) || len(r.Output) > sandbox.JobOutput || len(r.Output) < sandbox.JobOutput-utf8.UTFMax || !strings.HasSuffix(string(r.Output), "\nend\n") {
		t.Errorf("kept %d bytes of 50 MB, valid %v", len(r.Output), utf8.Valid(r.Output))
	}
	if all := r.Dropped + int64(len(r.Output)); all != 50_000_000+int64(len("begin\n\nend\n")) {
		t.Errorf("%d bytes dropped and %d kept", r.Dropped, len(r.Output))
	}
	eventually(t, "the buffer is full", func() bool { return s.job(t, flood.ID, 0).Result.Dropped > 1<<20 })
	if now := s.job(t, flood.ID, 0); !now.Running || len(now.Result.Output) != sandbox.JobOutput {
		t.Errorf("a job that floods: %d bytes kept", len(now.Result.Output))
	}
	list, err := s.box.Jobs().List(t.Context())
	if err != nil || len(list) != 2 || len(list[0].Result.Output) > sandbox.ListOutput || !strings.HasSuffix(string(list[1].Result.Output), "\nend\n") {
		t.Errorf("List = %+v, %v", list, err)
	}
	j = s.start(t, sandbox.Command{Script: `printf '\360\000\377 ok'`})
	s.ended(t, j.ID, "\uFFFD\x00\uFFFD ok", 0)
	// What outlives the shell does not hold the job.
	j = s.start(t, sandbox.Command{Script: "sleep 300 & echo $! >pid; echo started"})
	s.ended(t, j.ID, "started\n", 0)
	if s.alive(t, "pid") == "" {
		t.Error("a process that outlived the job's shell is gone")
	}
}

func testJobKill(t *testing.T, s *session) {
	var all sync.WaitGroup
	for _, test := range []struct {
		name, script string
		terminal     bool
	}{
		{"plain", "echo $$ >pids; echo a; sleep 100", false},
		{"terminal", "echo $$ >pids; echo a; sleep 100", true},
		{"ignores TERM", `trap "" TERM; echo $$ >pids; echo a; sleep 100; sleep 100`, false},
		{"ignores TERM and hang-up", `trap "" TERM HUP; echo $$ >pids; echo a; sleep 100; sleep 100`, true},
		{"own session", `setsid sh -c 'trap "" TERM; echo $$ >pids; sleep 100; sleep 100' & until [ -s pids ]; do sleep 0.01; done; echo a; sleep 100`, true},
		{"double fork", `(setsid sh -c 'trap "" TERM; sleep 100 & echo $! >pids; sleep 100 & echo $! >>pids' &) ; until [ -s pids ]; do sleep 0.01; done; echo a; sleep 100`, false},
		{"many", `i=0; while [ $i -lt 100 ]; do i=$((i+1)); sleep 100 & echo $! >>pids; done; echo a; wait`, false},
	} {
		s.sh(t, "mkdir '"+test.name+"'")
		j := s.start(t, sandbox.Command{Script: test.script, Dir: test.name, Terminal: test.terminal, Grace: 300 * time.Millisecond})
		all.Go(func() {
			for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
				if now, err := s.box.Jobs().Wait(t.Context(), j.ID, 0); err != nil || string(now.Result.Output) == "a\n" {
					break
				}
			}
			start := time.Now()
			end, err := s.box.Jobs().Kill(t.Context(), j.ID)
			if took := time.Since(start); took > 8*time.Second {
				t.Errorf("%s: took %v", test.name, took)
			}
			if err != nil || end.Running || !end.Result.Killed || end.Result.ExitCode < 128 || string(end.Result.Output) != "a\n" {
				t.Errorf("%s: %+v, output %q, %v", test.name, end, end.Result.Output, err)
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

func testJobLimit(t *testing.T, s *session) {
	var first sandbox.Job
	for i := range sandbox.MaxJobs {
		j := s.start(t, sandbox.Command{Script: "exec sleep 300"})
		if i == 0 {
			first = j
		}
	}
	more := sandbox.Command{Key: s.key(), Script: "true", Background: true}
	if r, err := s.box.Exec(t.Context(), more); !errors.Is(err, sandbox.ErrTooManyJobs) {
		t.Errorf("one job more = %+v, %v; want ErrTooManyJobs", r, err)
	}
	if _, state, err := s.box.Recall(t.Context(), more.Key); state != sandbox.CallNever || err != nil {
		t.Errorf("Recall of that = %v, %v; want CallNever", state, err)
	}
	if out := s.sh(t, "echo hi"); out != "hi\n" {
		t.Errorf("a command beside all of them prints %q", out)
	}
	if _, err := s.box.Jobs().Kill(t.Context(), first.ID); err != nil {
		t.Errorf("Kill: %v", err)
	}
	eventually(t, "there is room again", func() bool {
		r, err := s.box.Exec(t.Context(), more)
		return err == nil && r.Job != nil
	})
}
