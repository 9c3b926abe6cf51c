package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// supervise runs a supervisor as a container would: with nothing inherited.
func supervise(t *testing.T, stdin []byte) (report, error) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", SuperviseArg)
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.Env = cleanEnvironment(t.TempDir(), "nonce/key/")
	out, err := cmd.Output()
	var said report
	if len(out) > 0 {
		if err := json.Unmarshal(out, &said); err != nil {
			t.Errorf("report %q: %v", out, err)
		}
	}
	return said, err
}

func TestSuperviseAlone(t *testing.T) {
	dir := t.TempDir()
	file := call{filepath.Join(dir, "call")}
	text, err := json.Marshal(spec{
		Path: file.path, Script: []byte("echo hi; exit 4"), Dir: dir, Root: dir,
		Timeout: time.Minute, Grace: time.Second, Deadline: time.Minute, Head: 100, Tail: 100,
	})
	if err != nil {
		t.Fatal(err)
	}
	said, err := supervise(t, text)
	if err != nil || said.Result == nil || string(said.Result.Output) != "hi\n" || said.Result.ExitCode != 4 {
		t.Errorf("report %+v, %v", said, err)
	}
	r, begun, err := file.read()
	if err != nil || !begun || r.Result == nil || !r.Ended || r.Pid == 0 || r.Group == 0 || !r.meaningful() {
		t.Errorf("record %+v, %v", r, err)
	}
	// While somebody holds the call, a second supervisor must not run it.
	f, err := file.open()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if said, err := supervise(t, text); err == nil || said.Error == "" || said.Result != nil {
		t.Errorf("a second supervisor: %+v, %v", said, err)
	}
	// The program died while it told the supervisor what to do.
	other := call{filepath.Join(dir, "other")}
	text = bytes.Replace(text, []byte(file.path), []byte(other.path), 1)
	if _, err := supervise(t, text[:len(text)-2]); err == nil || there(other.path)() {
		t.Errorf("half a spec was run: %v", err)
	}
}

func TestBrokenSupervisor(t *testing.T) {
	for _, exe := range []string{"/no/such/binary", "/bin/false", "/bin/true"} {
		l := open(t, LocalOptions{Executable: exe})
		if _, err := l.Exec(t.Context(), Command{Key: "0", Script: strings.Repeat("true\n", 100_000)}); !errors.Is(err, ErrSupervisor) {
			t.Errorf("Exec with %s = %v, want ErrSupervisor", exe, err)
		}
		if _, state, err := l.Recall(t.Context(), "0"); state != CallNever || err != nil {
			t.Errorf("Recall with %s = %v, %v; want CallNever", exe, state, err)
		}
	}
	for _, how := range []string{"KILL", "TERM"} {
		l := open(t, LocalOptions{})
		start := time.Now()
		_, err := l.Exec(t.Context(), Command{Key: "0", Script: "setsid sleep 300 & echo $! >pid; kill -" + how + " $PPID; sleep 300"})
		if !errors.Is(err, ErrSupervisor) || time.Since(start) > 10*time.Second {
			t.Errorf("Exec whose supervisor got %s = %v after %v, want ErrSupervisor", how, err, time.Since(start))
		}
		if alive(t, l.work(), "pid") {
			t.Error("a process of the command is left")
		}
		if _, state, err := l.Recall(t.Context(), "0"); state != CallLost || err != nil {
			t.Errorf("Recall = %v, %v; want CallLost", state, err)
		}
		if r := mustRun(t, l, "1", "echo next"); string(r.Output) != "next\n" {
			t.Errorf("the next command: %+v", r)
		}
	}
}

// Fifty megabytes of output do not make the supervisor grow.
func TestSupervisorMemory(t *testing.T) {
	l := open(t, LocalOptions{})
	r := mustRun(t, l, "0", `yes "zażółć" | head -c 50000000; sed -n 's/VmHWM:[^0-9]*\([0-9]*\) kB/ \1/p' /proc/$PPID/status`)
	fields := strings.Fields(string(r.Output))
	kb, err := strconv.Atoi(fields[len(fields)-1])
	if limit := 40_000; err != nil || kb > limit {
		t.Errorf("the supervisor took %d kB, bound %d (%v)", kb, limit, err)
	}
}

// What a supervisor is told shows up in no process list, and the keys of the
// program in no environment.
func TestSupervisorTellsNothing(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-canary-77")
	l := open(t, LocalOptions{})
	r := mustRun(t, l, "0", `# secret-in-the-script
		cat /proc/$$/cmdline /proc/$PPID/cmdline | tr '\0' ' '; echo; cat /proc/$$/environ /proc/$PPID/environ | tr '\0' '\n'; ls -l /proc/self/fd | wc -l`)
	out := string(r.Output)
	if strings.Contains(out, "secret-in") || strings.Contains(out, "canary") {
		t.Errorf("output: %s", out)
	}
	// A header line and the descriptors 0, 1, 2 and that of the folder itself.
	if !strings.HasSuffix(out, "\n5\n") {
		t.Errorf("a command inherits descriptors: %s", out)
	}
}

// A command that stops its supervisor is still ended in time, and so is the
// sandbox.
func TestStoppedSupervisor(t *testing.T) {
	const stop = "kill -STOP $PPID; "
	t.Run("foreground", func(t *testing.T) {
		l := open(t, LocalOptions{})
		r, err := l.Exec(t.Context(), Command{Key: "0", Script: stop + "sleep 300", Timeout: 500 * time.Millisecond, Grace: 10 * time.Millisecond})
		if err != nil || !r.TimedOut {
			t.Errorf("Exec = %+v, %v, want a timeout", r, err)
		}
		if r := mustRun(t, l, "1", "echo next"); string(r.Output) != "next\n" {
			t.Errorf("the next command: %+v", r)
		}
	})
	t.Run("job", func(t *testing.T) {
		l := open(t, LocalOptions{})
		j := startJob(t, l, "0", "echo before; until test -e go; do sleep 0.01; done; "+stop+"sleep 300")
		write(t, filepath.Join(l.work(), "go"), "", 0o600)
		until(t, "the job has stopped its supervisor", func() bool { return stopped(t, l, "0") })
		if j, err := l.Jobs().Kill(t.Context(), j.ID); err != nil || !j.Result.Killed || string(j.Result.Output) != "before\n" {
			t.Errorf("Kill = %+v, %v", j, err)
		}
	})
	t.Run("closed", func(t *testing.T) {
		l := open(t, LocalOptions{})
		ended := make(chan error, 1)
		go func() {
			_, err := l.Exec(t.Context(), Command{Key: "0", Script: stop + "sleep 300"})
			ended <- err
		}()
		until(t, "the command has stopped its supervisor", func() bool { return stopped(t, l, "0") })
		if err := l.Close(t.Context(), false); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, ErrClosed) {
			t.Errorf("Exec = %v, want ErrClosed", err)
		}
		if r, _, err := (call{filepath.Join(l.base, callsFolder, "0")}).read(); err != nil || !r.Ended {
			t.Errorf("the supervisor did not end by itself: %+v, %v", r, err)
		}
	})
	t.Run("recalled", func(t *testing.T) {
		base := filepath.Join(t.TempDir(), "box")
		nonce, kill := startProgram(t, base, stop+"echo after")
		l := open(t, LocalOptions{Base: base, Nonce: nonce})
		until(t, "the command has stopped its supervisor", func() bool { return stopped(t, l, "0") })
		kill()
		r, state, err := l.Recall(t.Context(), "0")
		if err != nil || state != CallDone || string(r.Output) != "after\n" {
			t.Errorf("Recall = %+v, %v, %v; want CallDone", r, state, err)
		}
	})
}

// stopped tells whether the supervisor of a call is.
func stopped(t *testing.T, l *Local, key string) bool {
	t.Helper()
	r, begun, err := (call{filepath.Join(l.base, callsFolder, key)}).read()
	if err != nil {
		t.Fatal(err)
	}
	if !begun {
		return false
	}
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.Pid))
	return bytes.Contains(stat, []byte(") T "))
}
