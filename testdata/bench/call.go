package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hermes-batch/testdata/shipped"
)

const (
	// callLimit ends a program that hangs.
	callLimit = 30 * time.Minute
	// sampling is how often memory is looked at.
	sampling = 20 * time.Millisecond
)

// program is a binary that is measured.
type program struct{ label, path string }

// usage is what a call of a program took.
type usage struct {
	wall      time.Duration
	processor time.Duration // of the program and all its children
	memory    int64         // peak of anonymous memory, of the program alone, in bytes
	written   int64         // bytes that it and its children sent to the disk
}

// call is a program that runs.
type call struct {
	cmd    *exec.Cmd
	began  time.Time
	cancel context.CancelFunc
	text   bytes.Buffer // all that it printed
	ended  chan struct{}
	err    error // after ended: how it ended
	usage  usage // after ended
}

// start starts the program in a folder.
func (p program) start(ctx context.Context, dir string, args ...string) (*call, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	c := &call{cmd: exec.CommandContext(ctx, p.path, args...), cancel: cancel, ended: make(chan struct{})}
	c.cmd.Dir, c.cmd.Env = dir, shipped.Environment(os.Environ())
	c.cmd.Stdout, c.cmd.Stderr = &c.text, &c.text
	c.began = time.Now()
	if err := c.cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	stop, peak := make(chan struct{}), make(chan int64)
	go watch(c.cmd.Process.Pid, stop, peak)
	go func() {
		c.err = c.cmd.Wait()
		c.usage.wall = time.Since(c.began)
		close(stop)
		c.usage.memory = <-peak
		c.usage.processor = c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()
		if r, ok := c.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			c.usage.written = r.Oublock * 512
		}
		cancel()
		close(c.ended)
	}()
	return c, nil
}

// wait waits for the end of the program, which must be with that exit code.
func (c *call) wait(code int) (usage, error) {
	<-c.ended
	if got := c.cmd.ProcessState.ExitCode(); got != code {
		return usage{}, fmt.Errorf("exit code %d (%v) instead of %d\n%s", got, c.err, code, lastLines(c.text.String(), 20))
	}
	return c.usage, nil
}

// run runs the program to its end.
func (p program) run(ctx context.Context, dir string, args ...string) (usage, error) {
	c, err := p.start(ctx, dir, args...)
	if err != nil {
		return usage{}, err
	}
	return c.wait(0)
}

// watch tells the peak of a process's anonymous memory after stop is closed.
func watch(pid int, stop <-chan struct{}, peak chan<- int64) {
	tick := time.NewTicker(sampling)
	defer tick.Stop()
	most := int64(0)
	for {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
			most = max(most, anonymous(string(text)))
		}
		select {
		case <-tick.C:
		case <-stop:
			peak <- most
			return
		}
	}
}

// anonymous reads the anonymous memory out of a process's status, in bytes; 0
// if it does not say.
func anonymous(status string) int64 {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10
		}
	}
	return 0
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
