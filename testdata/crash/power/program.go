package power

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"hermes-batch/engine/simulated"
	"hermes-batch/testdata/shipped"
)

// callLimit ends a call of the program that hangs.
const callLimit = 3 * time.Minute

// server is the embedded model, which counts what it is asked.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	requests int
	first    map[string]int // by prompt: turns that its first request had
	at       int            // with this request,
	then     func()         // this is called
}

func newServer(o simulated.Options) (*server, error) {
	model, err := simulated.New(o)
	if err != nil {
		return nil, err
	}
	s := &server{first: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		if _, err := body.ReadFrom(r.Body); err == nil && r.Method == http.MethodPost {
			s.count(body.Bytes())
		}
		r.Body = readCloser{&body}
		model.ServeHTTP(w, r)
	}))
	return s, nil
}

type readCloser struct{ *bytes.Buffer }

func (readCloser) Close() error { return nil }

func (s *server) count(body []byte) {
	prompt, turns, err := parseRequest(body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests++; s.requests == s.at {
		go s.then()
	}
	if _, known := s.first[prompt]; err == nil && !known {
		s.first[prompt] = len(turns)
	}
}

// program is the binary that is recorded.
type program struct {
	path   string
	strace string
}

// finished is how a call ended.
type finished struct {
	code int
	text string // all that it printed
}

// run runs the program in a folder to its end, recorded if trace names a file.
func (p program) run(ctx context.Context, dir, trace string, args ...string) (finished, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	argv := append([]string{p.path}, args...)
	if trace != "" {
		argv = append([]string{p.strace}, straceArgs(trace, argv...)...)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, shipped.Environment(os.Environ())
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	if ctx.Err() != nil {
		return finished{}, fmt.Errorf("the program was ended: %w\n%s", ctx.Err(), out.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return finished{}, err
	}
	return finished{cmd.ProcessState.ExitCode(), out.String()}, nil
}

// must runs the program, which has to end with a code.
func (p program) must(ctx context.Context, code int, dir, trace string, args ...string) error {
	f, err := p.run(ctx, dir, trace, args...)
	if err == nil && f.code != code {
		err = fmt.Errorf("exit code %d instead of %d:\n%s", f.code, code, f.text)
	}
	return err
}

// interrupt is Ctrl+C for the program that a recording is about: its process is
// the one of the first line.
func interrupt(trace string) error {
	f, err := os.Open(trace)
	if err != nil {
		return err
	}
	defer f.Close()
	pid := 0
	if _, err := fmt.Fscan(f, &pid); err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGINT)
}

// record runs a scenario under strace. What it did is in numbered files in dir;
// read makes a recording of them.
func (p program) record(ctx context.Context, sc scenario, dir string, quick bool) error {
	run := filepath.Join(dir, runFolder)
	if err := makeFolder(run); err != nil {
		return err
	}
	latency := 150 * time.Millisecond // so that files are rendered in the background as well
	if quick {
		latency = 5 * time.Millisecond
	}
	for i, in := range sc.Invocations {
		model, err := newServer(simulated.Options{Latency: latency, Jitter: latency})
		if err != nil {
			return err
		}
		trace := filepath.Join(dir, traceName(i))
		interrupted := make(chan error, 1)
		model.at, model.then = in.Requests, func() { interrupted <- interrupt(trace) }
		err = p.must(ctx, in.Code, run, trace, in.args(model.URL)...)
		model.Close()
		select {
		case failed := <-interrupted:
			err = errors.Join(err, failed)
		default:
		}
		if err != nil {
			return fmt.Errorf("%s, call %d: %w", sc.Name, i+1, err)
		}
	}
	return nil
}

const runFolder = "run" // in which the program runs, in the folder of a scenario

func traceName(i int) string { return fmt.Sprintf("%d.strace", i+1) }

// args are the arguments with the model's address and the folder for work
// folders, which lies beside the recorded one.
func (in *invocation) args(url string) []string { return withModel(in.Args, url) }

func withModel(args []string, url string) []string {
	if args[0] == "export" {
		return args
	}
	args = append(slices.Clone(args), "--work_dir=../state")
	if !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--base_url=") }) {
		args = append(args, "--base_url="+url+"/v1")
	}
	return args
}

// read makes a recording of what strace wrote, and tells whether it amounts to
// the files that are there, if they still are.
func (sc scenario) read(dir string) (*recording, error) {
	r := newRecording(sc.Name, filepath.Join(dir, runFolder))
	for i, in := range sc.Invocations {
		f, err := os.Open(filepath.Join(dir, traceName(i)))
		if err != nil {
			return nil, err
		}
		calls, next, err := parseTrace(f, r.lines)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		r.lines = next
		w := newWatcher(r, in)
		k := &kernel{r: r, watch: w, cwd: r.dir, fds: map[int64]*description{}, phase: w.phaseOf}
		if err := k.run(calls); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
	}
	return r, r.verify()
}
