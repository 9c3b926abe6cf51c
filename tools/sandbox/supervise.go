package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// SuperviseArg is the first argument with which this binary is a supervisor.
const SuperviseArg = "__supervise"

// lockedFd is the descriptor under which a supervisor inherits the locked
// started file. Without it the supervisor opens and locks the file itself.
const lockedFd = 3

const (
	// drainLimit is how long output is awaited after the shell has ended, if
	// a background process still holds the pipe.
	drainLimit = 100 * time.Millisecond
	// stopGrace lies between TERM and KILL when the supervisor is told to end.
	stopGrace = 500 * time.Millisecond
)

// A spec is what a supervisor is told on its standard input. Environment and
// mark come as its own environment.
type spec struct {
	Folder string // of the call
	Script []byte
	Shell  Shell
	Dir    string // absolute
	// Chosen says that Dir was asked for, and is not just where the last shell was.
	Chosen bool
	// Root is where the shell is put when its folder is gone; Owned says that
	// it may be made again if it is gone as well.
	Root       string
	Owned      bool
	Timeout    time.Duration
	Grace      time.Duration
	Deadline   time.Duration
	Head, Tail int
}

// A report is the line that a supervisor writes to its standard output: how
// the command ended, or why it could not be run.
type report struct {
	Result *Result `json:",omitempty"`
	Error  string  `json:",omitempty"`
}

// Supervise is the supervisor of one command. Main calls it before anything
// else when the first argument is SuperviseArg, and exits with what it returns:
// 0 if nothing of the command is left, 1 otherwise.
func Supervise() int {
	// The kernel ties a child's death signal to the thread that started it.
	runtime.LockOSThread()
	s := newSupervisor()
	if err := s.begin(os.Stdin); err != nil {
		s.tell(report{Error: err.Error()})
		return 1
	}
	return s.attend()
}

// A supervisor runs one command and outlives the program that asked for it.
type supervisor struct {
	spec    spec
	call    call
	started *os.File

	stop     chan os.Signal
	children chan os.Signal
	begun    time.Time
	deadline <-chan time.Time

	output *output
	eof    chan struct{} // closed when nobody holds the output pipe any more

	shell  int // pid and process group; 0 if there was none to start
	ended  bool
	status syscall.WaitStatus
	took   time.Duration
}

func newSupervisor() *supervisor {
	s := &supervisor{stop: make(chan os.Signal, 1), children: make(chan os.Signal, 1), eof: make(chan struct{})}
	signal.Notify(s.stop, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	signal.Notify(s.children, unix.SIGCHLD)
	// Caught, not ignored: what is ignored stays so in the shell. Writing to
	// a program that is gone is then an ordinary error.
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	return s
}

// begin reads the spec and starts the shell. An error means that nothing of
// the command was executed.
func (s *supervisor) begin(in io.Reader) error {
	if err := json.NewDecoder(in).Decode(&s.spec); err != nil {
		return fmt.Errorf("read the command: %w", err)
	}
	s.call = call{s.spec.Folder}
	s.begun, s.deadline = time.Now(), time.After(s.spec.Deadline)
	if err := s.lock(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	if err := os.Chdir(s.spec.Dir); err != nil {
		return s.refuse(err)
	}
	return s.start()
}

// lock takes over the started file, and keeps it and the report from the shell.
func (s *supervisor) lock() (err error) {
	if how, _ := unix.FcntlInt(lockedFd, unix.F_GETFL, 0); how&unix.O_APPEND != 0 {
		s.started = os.NewFile(lockedFd, startedFile)
	} else if s.started, err = openStarted(s.call.file(startedFile)); err != nil {
		return err
	}
	for _, fd := range []int{0, 1, 2, int(s.started.Fd())} {
		unix.CloseOnExec(fd)
	}
	return nil
}

// start starts the shell. The started file is written first: a command that
// may have had an effect is never taken for one that did not begin.
func (s *supervisor) start() error {
	shell, err := findShell(os.Getenv("PATH"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.call.file(scriptFile), s.spec.Script, 0o600); err != nil {
		return err
	}
	env := append(os.Environ(), "PWD="+s.spec.Dir)
	mark := os.Getenv(markName)
	if s.spec.Shell.Env != "" {
		if err := os.WriteFile(s.call.file(envFile), []byte(s.spec.Shell.Env), 0o600); err != nil {
			return err
		}
		// The state brings the rest: what was unset stays unset.
		env = []string{"PWD=" + s.spec.Dir, markName + "=" + mark}
	}
	if err := s.markBegun(); err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()
	argv := []string{filepath.Base(shell), "-c", wrapper(shell, s.call, s.spec, mark)}
	s.begun = time.Now()
	s.shell, err = syscall.ForkExec(shell, argv, &syscall.ProcAttr{
		Env:   env,
		Files: []uintptr{null.Fd(), w.Fd(), w.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", shell, err), s.started.Truncate(0))
	}
	s.output = newOutput(s.spec.Head, s.spec.Tail)
	go s.collect(r)
	// Not to pin the folder while background processes are watched.
	_ = os.Chdir("/")
	s.markGroup()
	return nil
}

func (s *supervisor) markBegun() error {
	self, err := readProcess("self")
	if err != nil {
		return err
	}
	return appendMark(s.started, mark{Pid: self.pid, Start: self.start, Boot: bootID(), Space: pidSpace()})
}

// markGroup helps to find what is left if this supervisor is killed. Without
// it the processes are still known by their environment.
func (s *supervisor) markGroup() {
	if p, err := readProcess(strconv.Itoa(s.shell)); err == nil {
		_ = appendMark(s.started, mark{Group: s.shell, GroupStart: p.start})
	}
}

// collect reads the output to its end, long after it has been reported.
func (s *supervisor) collect(r *os.File) {
	defer close(s.eof)
	defer r.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		_, _ = s.output.Write(buf[:n])
		if err != nil {
			return
		}
	}
}

// refuse reports that the shell could not start in its folder, which is the
// command's own trouble. A shell that was left in a folder that is gone is put
// back to the root, or else no later command could start either.
func (s *supervisor) refuse(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	text := fmt.Sprintf("cd: %s: %v\n", s.spec.Dir, err)
	state := s.spec.Shell
	if !s.spec.Chosen {
		if s.spec.Owned {
			_ = os.MkdirAll(s.spec.Root, 0o700)
		}
		state.Cwd = s.spec.Root
		text += "The shell is back in " + s.spec.Root + "\n"
	}
	s.ended = true
	s.publish(Result{Output: replaceInvalid([]byte(text)), ExitCode: exitNoDir, Shell: state})
	return nil
}

// publish makes the result last, then tells the program, if it is still there.
func (s *supervisor) publish(r Result) {
	b, err := json.Marshal(r)
	if err == nil {
		tmp := s.call.file(resultFile + ".tmp")
		if err = os.WriteFile(tmp, b, 0o600); err == nil {
			err = os.Rename(tmp, s.call.file(resultFile))
		}
	}
	if err != nil {
		// The program still gets the result. Only if it is gone as well is the
		// call lost, and Recall says so.
		_ = os.Remove(s.call.file(resultFile + ".tmp"))
	}
	s.tell(report{Result: &r})
}

func (s *supervisor) tell(r report) {
	b, err := json.Marshal(r)
	if err == nil {
		_, _ = os.Stdout.Write(append(b, '\n'))
	}
}
