package sandbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A run is a supervisor that this program started.
type run struct {
	call    call
	mark    string
	process *os.Process

	told   chan struct{} // closed when report is there, or will not come
	report report
	done   chan struct{} // closed when the supervisor has ended
	state  *os.ProcessState
	noise  bytes.Buffer // what it wrote besides the report: a stack, if it broke
}

const maxNoise = 8 << 10 // bytes

// launch starts a supervisor and gives it its spec. The call's file is
// locked; from here on the supervisor holds the lock too.
func (l *Local) launch(c call, mark string, locked *os.File, text []byte) (*run, error) {
	specR, specW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer specR.Close()
	reportR, reportW, err := os.Pipe()
	if err != nil {
		specW.Close()
		return nil, err
	}
	defer reportW.Close()
	process, err := os.StartProcess(l.opts.Executable, []string{"hermes-batch", SuperviseArg}, &os.ProcAttr{
		Dir:   "/",
		Env:   cleanEnvironment(l.work(), mark),
		Files: []*os.File{specR, reportW, reportW, locked},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		specW.Close()
		reportR.Close()
		return nil, err
	}
	r := &run{call: c, mark: mark, process: process, told: make(chan struct{}), done: make(chan struct{})}
	l.mu.Lock()
	l.alive[r] = true
	l.mu.Unlock()
	go func() {
		defer specW.Close()
		// If it does not read to the end it ends, and the report says why.
		_, _ = specW.Write(text)
	}()
	go l.attendRun(r, reportR)
	return r, nil
}

// attendRun takes the supervisor's report and then waits for its end. The pipe
// closes with the supervisor, so that waiting costs no thread.
func (l *Local) attendRun(r *run, pipe *os.File) {
	defer pipe.Close()
	told := sync.OnceFunc(func() { close(r.told) })
	for in := bufio.NewReaderSize(pipe, 64<<10); ; {
		line, err := in.ReadBytes('\n')
		var said report
		switch {
		case json.Unmarshal(line, &said) == nil && r.report == (report{}):
			r.report = said
			told()
		case r.noise.Len() < maxNoise:
			r.noise.Write(line)
		}
		if err != nil {
			break
		}
	}
	r.state, _ = r.process.Wait()
	l.mu.Lock()
	delete(l.alive, r)
	l.dirty = l.dirty || r.state == nil || !r.state.Success()
	l.mu.Unlock()
	close(r.done)
	told()
}

// stop tells the supervisor to end, also one that its command has stopped.
func (r *run) stop() {
	_ = r.process.Signal(unix.SIGTERM)
	_ = r.process.Signal(unix.SIGCONT)
}

// failure says why there is no result.
func (r *run) failure() string {
	if r.report.Error != "" {
		return r.report.Error
	}
	text, _ := io.ReadAll(io.LimitReader(&r.noise, maxNoise))
	if note := strings.TrimSpace(string(text)); note != "" {
		return fmt.Sprintf("%v: %s", r.state, note)
	}
	return fmt.Sprintf("ended without a result: %v", r.state)
}
