package shipped

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Build makes the binary as a release is made.
func Build(ctx context.Context, path string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", path, "hermes-batch")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, text)
	}
	return nil
}

// Binary is a program to start.
type Binary struct {
	Path     string
	Wrap     []string      // command that replaces itself by the program, if any
	Dir      string        // in which it starts, and below which all work folders lie
	Env      []string      // beside that of this process
	Patience time.Duration // one that takes longer hangs: it is told to show its goroutines
}

// Call is a program that runs.
type Call struct {
	cmd   *exec.Cmd
	out   *os.File // all that it prints; a file, which no child holds open for it
	limit *time.Timer
	ended chan struct{}
	how   Ending // after ended
}

// Start starts the program.
func (b Binary) Start(args ...string) (*Call, error) {
	argv := append(append(slices.Clone(b.Wrap), b.Path), args...)
	c := &Call{cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{})}
	c.cmd.Dir, c.cmd.Env = b.Dir, append(Environment(os.Environ()), b.Env...)
	var err error
	if c.out, err = Output(); err != nil {
		return nil, err
	}
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.out
	if err := c.cmd.Start(); err != nil {
		c.out.Close()
		return nil, err
	}
	c.limit = time.AfterFunc(b.Patience, func() { _ = c.cmd.Process.Signal(syscall.SIGQUIT) })
	go func() {
		_ = c.cmd.Wait() // the state tells
		c.limit.Stop()
		c.how = EndingOf(c.cmd.ProcessState.Sys().(syscall.WaitStatus), c.out)
		close(c.ended)
	}()
	return c, nil
}

// Run runs the program to its end.
func (b Binary) Run(args ...string) (Ending, error) {
	c, err := b.Start(args...)
	if err != nil {
		return Ending{}, err
	}
	return c.Wait(), nil
}

// Wait waits for the end.
func (c *Call) Wait() Ending {
	<-c.ended
	return c.how
}

// Within waits for the end, but not longer than d.
func (c *Call) Within(d time.Duration) (ended bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.ended:
		return true
	case <-timer.C:
		return false
	}
}

// Kill ends the program as a lack of memory does.
func (c *Call) Kill() Ending {
	c.Signal(syscall.SIGKILL)
	return c.Wait()
}

// Ended is closed at the end.
func (c *Call) Ended() <-chan struct{} { return c.ended }

// PID is that of the program.
func (c *Call) PID() int { return c.cmd.Process.Pid }

// Signal sends a signal, or does nothing if the program has ended.
func (c *Call) Signal(s syscall.Signal) { _ = c.cmd.Process.Signal(s) }

// Output is a file for what a program prints, which has no name any more.
func Output() (*os.File, error) {
	f, err := os.CreateTemp("", "output-")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// mostOutput is how much is read of what a program printed, in bytes.
const mostOutput = 1 << 20

// EndingOf tells how a process ended that printed into a file of Output, which it
// closes.
func EndingOf(status syscall.WaitStatus, out *os.File) (e Ending) {
	defer out.Close()
	e.Code = status.ExitStatus()
	if status.Signaled() {
		e.By = status.Signal()
	}
	text, err := io.ReadAll(io.NewSectionReader(out, 0, mostOutput))
	if err != nil {
		text = append(text, err.Error()...)
	}
	e.Text = string(text)
	return e
}

// Environment is one without settings or keys of the program.
func Environment(all []string) (clean []string) {
	for _, v := range all {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "HERMES_BATCH_") && !strings.HasSuffix(name, "_API_KEY") {
			clean = append(clean, v)
		}
	}
	return clean
}

// Folder makes a folder for runs in a parent, "" for the system's temporary
// folder, under the name that commands see.
func Folder(parent, name string) (string, error) {
	dir, err := os.MkdirTemp(parent, name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}
