package sandbox

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// startJob starts a job and fails the test if it does not run.
func startJob(t *testing.T, l *Local, key, script string) Job {
	t.Helper()
	r, err := l.Exec(t.Context(), Command{Key: key, Script: script, Background: true})
	if err != nil || r.Job == nil {
		t.Fatalf("Exec(%q) in the background: %+v, %v", script, r, err)
	}
	return *r.Job
}

// waitJob waits for the end of a job.
func waitJob(t *testing.T, l *Local, id string) Job {
	t.Helper()
	j, err := l.Jobs().Wait(t.Context(), id, time.Minute)
	if err != nil || j.Running {
		t.Fatalf("Wait(%s) = %+v, %v", id, j, err)
	}
	return j
}

// killSupervisor kills the supervisor of a call, and waits until it is gone.
func killSupervisor(t *testing.T, base, key string) {
	t.Helper()
	c := call{filepath.Join(base, callsFolder, key)}
	r, begun, err := c.read()
	if err != nil || !begun {
		t.Fatalf("no record of call %s: %v", key, err)
	}
	if err := unix.Kill(r.Pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if !c.waitFree(20 * time.Second) {
		t.Fatalf("the supervisor of call %s does not end", key)
	}
}

// The program is killed: its jobs go on, and the next session of the program
// reaches those that run and learns how the others ended.
func TestJobAfterKill(t *testing.T) {
	base := filepath.Join(t.TempDir(), "box")
	nonce, kill := startProgram(t, base,
		jobMark+"echo $$ >pid; read -r x; echo \"got $x\"; exit 3",
		jobMark+"echo done; exit 4",
		jobMark+"trap '' TERM HUP; setsid sleep 300 & echo $! >child; sleep 300",
		"until [ -s pid ] && [ -s child ]; do sleep 0.01; done; touch ready; sleep 300")
	until(t, "the jobs run", there(base, "work", "ready"))
	kill()
	l := open(t, LocalOptions{Base: base, Nonce: nonce})
	r, state, err := l.Recall(t.Context(), "0")
	if err != nil || state != CallDone || !r.Recovered || r.Job == nil || r.Job.ID != "proc_0" {
		t.Fatalf("Recall = %+v, %v, %v", r, state, err)
	}
	if pid := strings.TrimSpace(content(t, base, "work", "pid")); pid != "" && pid != strconv.Itoa(r.Job.PID) {
		t.Errorf("Recall says pid %d, the job %s", r.Job.PID, pid)
	}
	if _, err := l.Jobs().Write(t.Context(), "proc_0", []byte("it\n"), false); err != nil {
		t.Errorf("Write: %v", err)
	}
	if j := waitJob(t, l, "proc_0"); string(j.Result.Output) != "got it\n" || j.Result.ExitCode != 3 {
		t.Errorf("the job that ran: %+v, output %q", j, j.Result.Output)
	}
	if j := waitJob(t, l, "proc_1"); string(j.Result.Output) != "done\n" || j.Result.ExitCode != 4 {
		t.Errorf("the job that had ended: %+v, output %q", j, j.Result.Output)
	}
	list, err := l.Jobs().List(t.Context())
	if err != nil || len(list) != 3 || !list[2].Running || list[0].ID != "proc_0" {
		t.Errorf("List = %+v, %v", list, err)
	}
	if j := startJob(t, l, "9", "exit 5"); j.ID != "proc_9" || waitJob(t, l, j.ID).Result.ExitCode != 5 {
		t.Errorf("a new job: %+v", j)
	}
	if err := l.Close(t.Context(), false); err != nil {
		t.Errorf("Close: %v", err)
	}
	if alive(t, base, "work", "child") {
		t.Error("a process of a job outlived the sandbox")
	}
}

// Whenever the program is killed while it starts a job: what is said of the
// call is what happened.
func TestJobKillAtAnyMoment(t *testing.T) {
	said := map[CallState]int{}
	for i := range killRounds {
		base := filepath.Join(t.TempDir(), "box")
		nonce, kill := startProgram(t, base, jobMark+"echo once >>log; read -r x")
		time.Sleep(time.Duration(i%15) * time.Millisecond)
		kill()
		l := open(t, LocalOptions{Base: base, Nonce: nonce})
		r, state, err := l.Recall(t.Context(), "0")
		said[state]++
		switch {
		case err != nil:
			t.Error(err)
		case state == CallLost:
			t.Errorf("round %d: lost, though its supervisor lived", i)
		case state == CallNever && there(base, "work", "log")():
			t.Errorf("round %d: never began, but left a trace", i)
		case state == CallNever:
			if list, err := l.Jobs().List(t.Context()); len(list) != 0 || err != nil {
				t.Errorf("round %d: never began, but List = %+v, %v", i, list, err)
			}
			r.Job = new(Job)
			*r.Job = startJob(t, l, "0", "echo once >>log; read -r x")
		}
		if _, err := l.Jobs().Write(t.Context(), r.Job.ID, nil, true); err != nil {
			t.Errorf("round %d: %v", i, err)
		}
		waitJob(t, l, r.Job.ID)
		if log := content(t, base, "work", "log"); log != "once\n" {
			t.Errorf("round %d: log %q", i, log)
		}
	}
	t.Logf("never begun %d times, started %d times", said[CallNever], said[CallDone])
}

// A sandbox with a job that is gone cannot be opened again, and nothing of it
// is left running. One whose jobs have all ended can.
func TestLostJob(t *testing.T) {
	for _, test := range []struct {
		name string
		how  func(t *testing.T, base string)
		lost bool
	}{
		{"supervisor killed", func(t *testing.T, base string) { killSupervisor(t, base, "1") }, true},
		{"sandbox closed", func(t *testing.T, base string) {
			l, err := newLocal(LocalOptions{Base: base})
			if err != nil {
				t.Fatal(err)
			}
			l.reopened = true
			l.nonce, l.boot, _ = readNonce(base)
			if err := l.Close(t.Context(), false); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"all ended", func(t *testing.T, base string) { killAll(t, base) }, false},
		{"machine restarted", func(t *testing.T, base string) {
			killSupervisor(t, base, "1")
			killSupervisor(t, base, "2")
			reboot(t, base)
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			base := filepath.Join(t.TempDir(), "box")
			nonce, kill := startProgram(t, base,
				jobMark+"true",
				jobMark+"setsid sleep 300 & echo $! >first; sleep 300",
				jobMark+"setsid sleep 300 & echo $! >second; sleep 300",
				"until [ -s first ] && [ -s second ]; do sleep 0.01; done; touch ready")
			until(t, "the jobs run", there(base, "work", "ready"))
			kill()
			test.how(t, base)
			l, err := OpenLocal(LocalOptions{Base: base, Nonce: nonce})
			if lost := errors.Is(err, ErrLost); lost != test.lost || err != nil && !lost {
				t.Errorf("OpenLocal = %v; want lost: %v", err, test.lost)
			}
			for _, name := range []string{"first", "second"} {
				if alive(t, base, "work", name) {
					t.Errorf("a process of the %s job still runs", name)
				}
			}
			if err == nil {
				err = l.Close(t.Context(), true)
			} else {
				err = discard(t.Context(), base)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// killAll ends the jobs as a later session of the program does.
func killAll(t *testing.T, base string) {
	t.Helper()
	nonce, _, err := readNonce(base)
	if err != nil {
		t.Fatal(err)
	}
	l, err := OpenLocal(LocalOptions{Base: base, Nonce: nonce})
	if err != nil {
		t.Fatal(err)
	}
	list, err := l.Jobs().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range list {
		if _, err := l.Jobs().Kill(t.Context(), j.ID); err != nil {
			t.Error(err)
		}
	}
	if err := l.Close(t.Context(), false); err != nil {
		t.Error(err)
	}
}

// reboot makes the sandbox one of an earlier start of the machine.
func reboot(t *testing.T, base string) {
	t.Helper()
	nonce, _, err := readNonce(base)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(base, nonceFile), nonce+"\nanother-boot\n", 0o600)
}

// A job that vanishes while the program runs is lost, and what is left of it
// ends.
func TestJobWithoutSupervisor(t *testing.T) {
	l := open(t, LocalOptions{})
	j := startJob(t, l, "0", "(trap '' TERM HUP; setsid sleep 300) & echo $! >pid; sleep 300")
	until(t, "the job runs", func() bool { return content(t, l.work(), "pid") != "" })
	failed := make(chan error, 1)
	go func() {
		_, err := l.Jobs().Wait(context.WithoutCancel(t.Context()), j.ID, time.Minute)
		failed <- err
	}()
	killSupervisor(t, l.base, "0")
	if err := <-failed; !errors.Is(err, ErrLost) {
		t.Errorf("Wait = %v, want ErrLost", err)
	}
	if _, err := l.Jobs().List(t.Context()); !errors.Is(err, ErrLost) {
		t.Errorf("List = %v, want ErrLost", err)
	}
	if alive(t, l.work(), "pid") {
		t.Error("a process of the job is left")
	}
	if _, state, err := l.Recall(t.Context(), "0"); state != CallLost || err != nil {
		t.Errorf("Recall = %v, %v; want CallLost", state, err)
	}
}

// What is said to a supervisor besides questions does not disturb it.
func TestOddQuestions(t *testing.T) {
	l := open(t, LocalOptions{})
	j := startJob(t, l, "0", "read -r x; exit 3")
	for _, text := range []string{"", "\n", "{", "[]\n", "{\"Wait\":\"x\"}\n", "{\"Data\":1}\n", strings.Repeat("x", 1<<20), "{\"Wait\":-5}\n", "{\"Kill\":false}\n"} {
		conn, err := dial(l.socket("0"))
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = conn.Write([]byte(text))
		_ = conn.(*net.UnixConn).CloseWrite()
		_, _ = conn.Read(make([]byte, 1))
		conn.Close()
	}
	idle, err := dial(l.socket("0"))
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	if _, err := l.Jobs().Write(t.Context(), j.ID, []byte("x\n"), false); err != nil {
		t.Error(err)
	}
	if j := waitJob(t, l, j.ID); j.Result.ExitCode != 3 {
		t.Errorf("after that: %+v", j)
	}
}

// The longest key, in a folder whose path is longer than a socket's address.
func TestJobLongNames(t *testing.T) {
	base := filepath.Join(t.TempDir(), strings.Repeat("long", 40), "box")
	l := open(t, LocalOptions{Base: base})
	j := startJob(t, l, strings.Repeat("k", maxKey), "read -r x; exit 3")
	if _, err := l.Jobs().Write(t.Context(), j.ID, nil, true); err != nil {
		t.Error(err)
	}
	if j := waitJob(t, l, j.ID); j.Result.ExitCode != 3 || !validKey(j.ID[len(jobPrefix):]) {
		t.Errorf("%+v", j)
	}
}

// The supervisor of a command in the foreground opens no socket, and the shell
// of a job inherits none.
func TestSockets(t *testing.T) {
	l := open(t, LocalOptions{})
	const count = "ls -l /proc/$PPID/fd /proc/self/fd | grep -c socket:"
	if r := mustRun(t, l, "0", count); string(r.Output) != "0\n" {
		t.Errorf("a plain command's supervisor has %s sockets", r.Output)
	}
	if there(l.base, jobsFolder)() {
		t.Error("a plain command leaves a folder for jobs")
	}
	j := startJob(t, l, "1", "ls -l /proc/$$/fd; ls -l /proc/$PPID/fd | grep -q socket: && echo listens")
	if out := string(waitJob(t, l, j.ID).Result.Output); strings.Contains(out, "socket:") || !strings.HasSuffix(out, "\nlistens\n") {
		t.Errorf("descriptors of a job: %s", out)
	}
}

// A job that ended leaves no supervisor, and one that floods does not make its
// supervisor grow.
func TestJobSupervisor(t *testing.T) {
	l := open(t, LocalOptions{})
	j := startJob(t, l, "0", `yes "zażółć" | head -c 50000000; sed -n 's/VmHWM:[^0-9]*\([0-9]*\) kB/ \1/p' /proc/$PPID/status`)
	fields := strings.Fields(string(waitJob(t, l, j.ID).Result.Output))
	if kb := fields[len(fields)-1]; len(kb) > 5 || len(kb) == 5 && kb > "40000" {
		t.Errorf("the supervisor took %s kB", kb)
	}
	until(t, "the supervisor ends", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.alive) == 0
	})
	if l.dirty {
		t.Error("Close would search the process table")
	}
	// The same call may be run again, as after one that was lost.
	if j = startJob(t, l, "0", "exit 6"); waitJob(t, l, j.ID).Result.ExitCode != 6 {
		t.Errorf("run again: %+v", j)
	}
}

func TestJobBrokenSupervisor(t *testing.T) {
	l := open(t, LocalOptions{Executable: "/bin/false"})
	if _, err := l.Exec(t.Context(), Command{Key: "0", Script: "true", Background: true}); !errors.Is(err, ErrSupervisor) {
		t.Errorf("Exec = %v, want ErrSupervisor", err)
	}
	if list, err := l.Jobs().List(t.Context()); len(list) != 0 || err != nil {
		t.Errorf("List = %+v, %v", list, err)
	}
}

// Who makes a job end is told so by its supervisor, which stays for the answer.
func TestJobPartsAfterAnswers(t *testing.T) {
	j := &jobServer{}
	if !j.begin() {
		t.Fatal("no conversation begins")
	}
	parted := make(chan struct{})
	go func() {
		j.part()
		close(parted)
	}()
	until(t, "no other conversation begins", func() bool {
		begun := j.begin()
		if begun {
			j.talks.Done()
		}
		return !begun
	})
	select {
	case <-parted:
		t.Error("it parts before it has answered")
	default:
	}
	j.talks.Done()
	<-parted
}
