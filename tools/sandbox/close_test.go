package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Closing while a supervisor does not react: it is stopped by a signal that
// it cannot catch.
func TestCloseWithEndedContext(t *testing.T) {
	l := open(t, LocalOptions{})
	mustRun(t, l, "0", `sleep 300 & (trap "" TERM; echo $BASHPID >pid; while :; do sleep 1; done) & until [ -s pid ]; do sleep 0.01; done`)
	r, _, err := call{filepath.Join(l.base, "calls", "0")}.read()
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(r.Pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	start := time.Now()
	if err := l.Close(ctx, false); err != nil {
		t.Errorf("Close: %v", err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("Close took %v", took)
	}
	if alive(t, l.work(), "pid") {
		t.Error("a background process is left")
	}
}

// Closing in the next session of the program, with the supervisor killed
// before and nobody having asked for the call.
func TestCloseAfterSupervisorWasKilled(t *testing.T) {
	base := filepath.Join(t.TempDir(), "box")
	nonce, kill := startProgram(t, base, "setsid sleep 300 & echo $! >pid", "touch ready; sleep 300")
	until(t, "the second command runs", there(base, "work", "ready"))
	kill()
	for _, key := range []string{"0", "1"} {
		r, _, err := call{filepath.Join(base, "calls", key)}.read()
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Kill(r.Pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	l := open(t, LocalOptions{Base: base, Nonce: nonce})
	if err := l.Close(t.Context(), false); err != nil {
		t.Errorf("Close: %v", err)
	}
	if alive(t, base, "work", "pid") {
		t.Error("a background process is left")
	}
}

// A sandbox is discarded by its nonce: what else lies under its name stays.
func TestDiscard(t *testing.T) {
	l := open(t, LocalOptions{})
	mustRun(t, l, "0", "echo x > ../beside")
	base := filepath.Dir(l.Root())
	foreign := t.TempDir()
	write(t, filepath.Join(foreign, "thesis"), "mine", 0o600)
	for folder, nonce := range map[string]string{base: "another", foreign: l.Nonce(), filepath.Join(foreign, "gone"): l.Nonce(), foreign + "/.": ""} {
		if err := Discard(t.Context(), folder, nonce); err != nil {
			t.Errorf("%s: %v", folder, err)
		}
	}
	if !there(base, "nonce")() || !there(base, "beside")() || content(t, foreign, "thesis") != "mine" {
		t.Error("a folder was removed that is another one")
	}
	if err := Discard(t.Context(), base, l.Nonce()); err != nil || there(base)() {
		t.Errorf("the sandbox is still there, %v", err)
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	write(t, outside, "outside", 0o600)
	kept, err := OpenLocal(LocalOptions{Base: filepath.Join(dir, "kept")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kept.Close(context.Background(), true) })
	_, kill := startProgram(t, filepath.Join(dir, "running"), "ln -s "+outside+" link; sleep 300 & touch ready; sleep 300")
	until(t, "the command runs", there(dir, "running", "work", "ready"))
	kill()
	for _, name := range []string{"begun/work", "foreign/thesis"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "file"), "", 0o600)
	n, err := Sweep(t.Context(), dir, func(name string) bool { return name == "kept" })
	if n != 2 || !errors.Is(err, errForeign) {
		t.Errorf("Sweep = %d, %v; want 2 and a word about the foreign folder", n, err)
	}
	for name, want := range map[string]bool{"kept/work": true, "foreign/thesis": true, "file": true, "running": false, "begun": false} {
		if there(dir, name)() != want {
			t.Errorf("%s is there: %v, want %v", name, !want, want)
		}
	}
	if got := content(t, outside); got != "outside" {
		t.Errorf("a linked file holds %q", got)
	}
	if n, err := Sweep(t.Context(), filepath.Join(dir, "none"), nil); n != 0 || err != nil {
		t.Errorf("Sweep of nothing = %d, %v", n, err)
	}
}

// Tools leave folders without write permission (Go's module cache does).
func TestRemoveReadOnly(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "file"), "outside", 0o444)
	if err := os.Chmod(outside, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(outside, 0o700) })
	base, err := os.MkdirTemp("", "sandbox-readonly-")
	if err != nil {
		t.Fatal(err)
	}
	l := open(t, LocalOptions{Base: base})
	mustRun(t, l, "0", "mkdir -p a/b/c d; echo x >a/b/c/file; ln -s "+outside+" a/link; ln -s "+outside+" a/b/c/link; chmod 000 d; chmod -R a-w a; chmod 444 a/b")
	if os.Getuid() == 0 {
		if err := unix.Lchown(base, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		mustRun(t, l, "1", "chown -hR 65534:65534 ..")
	}
	if err := l.Close(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		// The kernel takes the right to override permissions away from this
		// thread, which ends with the goroutine.
		runtime.LockOSThread()
		if os.Getuid() == 0 {
			if err := unix.Setfsuid(65534); err != nil {
				done <- err
				return
			}
		}
		done <- removeContents(base)
	}()
	if err := <-done; err != nil {
		t.Errorf("remove: %v", err)
	}
	if got := content(t, outside, "file"); got != "outside" {
		t.Errorf("outside holds %q", got)
	}
	if st, err := os.Stat(outside); err != nil || st.Mode().Perm() != 0o555 {
		t.Errorf("outside is now %v, %v", st.Mode(), err)
	}
}

// removeContents removes what can be removed without rights to the parent.
func removeContents(base string) error {
	for _, name := range []string{workFolder, callsFolder, nonceFile} {
		if err := removeTree(filepath.Join(base, name)); err != nil {
			return err
		}
	}
	return nil
}

// A background process does not live for ever if the program never returns.
func TestDeadline(t *testing.T) {
	base := filepath.Join(t.TempDir(), "box")
	l := open(t, LocalOptions{Base: base, Deadline: time.Second})
	mustRun(t, l, "0", "setsid sleep 300 & echo $! >pid")
	pid := content(t, l.work(), "pid")
	until(t, "the deadline ends it", func() bool { return !alive(t, l.work(), "pid") })
	r, err := l.Exec(t.Context(), Command{Key: "1", Script: "echo a; sleep 300"})
	if err != nil || !r.TimedOut || string(r.Output) != "a\n" {
		t.Errorf("a command at the deadline: %+v, %v (pid %s)", r, err, pid)
	}
}

// Ended supervisors are not looked for in the process table: closing a
// sandbox whose commands all ended costs no more than removing it.
func TestCloseIsCheap(t *testing.T) {
	l := open(t, LocalOptions{})
	for i := range 3 {
		mustRun(t, l, strconv.Itoa(i), "echo hi | cat")
	}
	until(t, "the supervisors end", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.alive) == 0
	})
	if l.dirty || l.reopened {
		t.Errorf("dirty %v, reopened %v: Close would search", l.dirty, l.reopened)
	}
	if err := l.Close(t.Context(), true); err != nil {
		t.Error(fmt.Errorf("Close: %w", err))
	}
}
