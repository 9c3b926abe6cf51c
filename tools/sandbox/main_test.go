package sandbox

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes-batch/testdata/leak"
)

// programArg makes the test binary a program that uses a sandbox, to be killed.
const programArg = "__program"

// TestMain makes the test binary what the program's binary is: its own supervisor.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case SuperviseArg:
			os.Exit(Supervise())
		case programArg:
			os.Exit(program(os.Args[2], os.Args[3], os.Args[4:]))
		}
	}
	os.Exit(leak.Check(m.Run()))
}

// jobMark before a script makes the program start it in the background.
const jobMark = "#job\n"

// program opens a new sandbox in base, tells its nonce and runs the scripts,
// one call each; then it waits to be killed.
func program(base, cwd string, scripts []string) int {
	l, err := OpenLocal(LocalOptions{Base: base, Cwd: cwd})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(l.Nonce())
	for i, script := range scripts {
		c := Command{Key: fmt.Sprint(i), Script: script, Background: strings.HasPrefix(script, jobMark)}
		r, err := l.Exec(context.Background(), c)
		fmt.Println(r.ExitCode, err)
	}
	select {}
}

// startProgram starts such a program; kill ends it as kill -9 does.
func startProgram(t *testing.T, base string, scripts ...string) (nonce string, kill func()) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", append([]string{programArg, base, ""}, scripts...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	kill = func() {
		if !killed {
			killed = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(kill)
	if _, err := fmt.Fscanln(out, &nonce); err != nil {
		t.Fatal(err)
	}
	checkEnd(t, base, nonce)
	return nonce, kill
}

// open opens a sandbox that is closed, removed and searched for survivors at
// the end of the test.
func open(t *testing.T, opts LocalOptions) *Local {
	t.Helper()
	if opts.Base == "" {
		opts.Base = filepath.Join(t.TempDir(), "box")
	}
	l, err := OpenLocal(opts)
	if err != nil {
		t.Fatal(err)
	}
	if opts.Nonce == "" {
		checkEnd(t, opts.Base, l.Nonce())
	}
	t.Cleanup(func() {
		if err := l.Close(context.Background(), true); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return l
}

// checkEnd checks after everything else that nothing of a sandbox is left.
func checkEnd(t *testing.T, base, nonce string) {
	t.Cleanup(func() {
		for _, p := range marked(t, nonce+"/") {
			t.Errorf("process %d of the sandbox is left: %q", p.pid, cmdline(p.pid))
		}
		if _, err := os.Lstat(base); err == nil {
			t.Errorf("folder %s is left", base)
		}
	})
}

// marked lists the processes with a mark, those that just exit left out.
func marked(t *testing.T, mark string) (found []process) {
	t.Helper()
	for try := 0; ; try++ {
		list, err := processes()
		if err != nil {
			t.Fatal(err)
		}
		found = nil
		for _, p := range list {
			if !p.zombie && p.marked(mark) {
				found = append(found, p)
			}
		}
		if len(found) == 0 || try == 20 {
			return found
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func cmdline(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.ReplaceAll(string(b), "\x00", " ")
}

// mustRun runs a script and fails the test if the sandbox does.
func mustRun(t *testing.T, l *Local, key, script string) Result {
	t.Helper()
	r, err := l.Exec(t.Context(), Command{Key: key, Script: script, Timeout: time.Minute})
	if err != nil {
		t.Fatalf("Exec(%q): %v", script, err)
	}
	return r
}

// until waits for something that another process does.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting: %s", what)
		}
	}
}

func there(elem ...string) func() bool {
	return func() bool {
		_, err := os.Lstat(filepath.Join(elem...))
		return err == nil
	}
}

func content(t *testing.T, elem ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}

// alive says whether a process whose pid a file holds still runs.
func alive(t *testing.T, elem ...string) bool {
	t.Helper()
	p, err := readProcess(strings.TrimSpace(content(t, elem...)))
	return err == nil && !p.zombie
}

func write(t *testing.T, name, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
