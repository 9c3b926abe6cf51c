package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// patience is how long a call of the program may take; one that takes longer
// hangs.
const patience = 2 * time.Minute

// program is the binary that is tormented.
type program struct{ path string }

// build makes the binary as a release is made.
func build(ctx context.Context, path string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", path, "hermes-batch")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, text)
	}
	return nil
}

// call is a program that runs.
type call struct {
	cmd   *exec.Cmd
	out   *os.File // all that it prints; a file, which no child holds open for it
	limit *time.Timer
	ended chan struct{}
	how   ending // after ended
}

// ending is how a call of the program ended.
type ending struct {
	code int            // exit code, -1 after a signal
	by   syscall.Signal // that ended it, or 0
	text string         // all that it printed
}

func (e ending) String() string {
	how := fmt.Sprintf("exit code %d", e.code)
	if e.by != 0 {
		how = e.by.String()
	}
	return how + "\n" + lastLines(e.text, 20)
}

// start starts the program in a folder. Of what wraps it, if anything, each
// part is an argument; it replaces itself by the program.
func (p program) start(dir string, wrap []string, args ...string) (*call, error) {
	argv := append(append(append([]string{}, wrap...), p.path), args...)
	c := &call{cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{})}
	c.cmd.Dir, c.cmd.Env = dir, environment(os.Environ())
	var err error
	if c.out, err = output(); err != nil {
		return nil, err
	}
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.out
	if err := c.cmd.Start(); err != nil {
		c.out.Close()
		return nil, err
	}
	c.limit = time.AfterFunc(patience, func() { _ = c.cmd.Process.Signal(syscall.SIGQUIT) }) // it shows its goroutines
	go func() {
		_ = c.cmd.Wait() // the state tells
		c.limit.Stop()
		c.how = endingOf(c.cmd.ProcessState.Sys().(syscall.WaitStatus), c.out)
		close(c.ended)
	}()
	return c, nil
}

// output is a file for what a program prints, which has no name any more.
func output() (*os.File, error) {
	f, err := os.CreateTemp("", "crash-output-")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

func endingOf(status syscall.WaitStatus, out *os.File) (e ending) {
	defer out.Close()
	e.code = status.ExitStatus()
	if status.Signaled() {
		e.by = status.Signal()
	}
	text, err := io.ReadAll(io.NewSectionReader(out, 0, 1<<20))
	if err != nil {
		text = append(text, err.Error()...)
	}
	e.text = string(text)
	return e
}

// wait waits for the end.
func (c *call) wait() ending {
	<-c.ended
	return c.how
}

// within waits for the end, but not longer than d.
func (c *call) within(d time.Duration) (ended bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.ended:
		return true
	case <-timer.C:
		return false
	}
}

func (c *call) pid() int { return c.cmd.Process.Pid }

// kill ends the program as a lack of memory does.
func (c *call) kill() ending {
	_ = c.cmd.Process.Kill() // or it has ended
	return c.wait()
}

// run runs the program to its end.
func (p program) run(dir string, wrap []string, args ...string) (ending, error) {
	c, err := p.start(dir, wrap, args...)
	if err != nil {
		return ending{}, err
	}
	return c.wait(), nil
}

// environment is one without settings or keys of the program.
func environment(all []string) (clean []string) {
	for _, v := range all {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "HERMES_BATCH_") && !strings.HasSuffix(name, "_API_KEY") {
			clean = append(clean, v)
		}
	}
	return clean
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
