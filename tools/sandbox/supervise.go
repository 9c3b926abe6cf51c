package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
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

// callFd is the descriptor under which a supervisor inherits the call's file,
// locked. Without it the supervisor opens and locks the file itself.
const callFd = 3

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
	Path   string // of the call's file
	Script []byte
	Shell  Shell
	Dir    string // absolute
	// Chosen says that Dir was asked for, and is not just where the last shell was.
	Chosen bool
	// Root is where the shell is put when its folder is gone; Owned says that
	// it may be made again if it is gone as well.
	Root     string
	Owned    bool
	Terminal bool
	// Socket is where a command in the background is reached; "" keeps it in
	// the foreground.
	Socket string
	// Full is the file for all of an output that is longer than Head and Tail,
	// in a folder of the work folder.
	Full       string
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
	spec spec
	file *os.File // the call's

	stop     chan os.Signal
	children chan os.Signal
	begun    time.Time
	deadline <-chan time.Time

	output  *output
	pipe    *os.File      // from which the output comes, the other side of a terminal
	drained chan struct{} // closed when it has come, see drain
	state   *os.File      // what the shell leaves
	job     *jobServer    // nil for a command in the foreground

	shell  int // pid and process group; 0 if there was none to start
	ended  bool
	status syscall.WaitStatus
	took   time.Duration
}

func newSupervisor() *supervisor {
	s := &supervisor{stop: make(chan os.Signal, 1), children: make(chan os.Signal, 1), drained: make(chan struct{})}
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
	s.begun, s.deadline = time.Now(), time.After(s.spec.Deadline)
	if err := s.lock(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	// The shell leaves its state in a file of this process, which it may not
	// open if the binary is one that its user can run but not read.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
	if s.spec.Socket != "" {
		var err error
		if s.job, err = listenAt(s.spec.Socket); err != nil {
			return err
		}
	}
	if err := os.Chdir(s.spec.Dir); err != nil {
		s.refuse(err)
		return nil
	}
	return s.start()
}

// lock takes over the call's file, and keeps it and the report from the shell.
func (s *supervisor) lock() (err error) {
	if how, _ := unix.FcntlInt(callFd, unix.F_GETFL, 0); how > 0 && how&unix.O_APPEND != 0 {
		s.file = os.NewFile(callFd, s.spec.Path)
	} else if s.file, err = (call{s.spec.Path}).open(); err != nil {
		return err
	}
	// All of them: the program may itself have inherited some, and a background
	// process would hold them open.
	if unix.CloseRange(0, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) != nil {
		for _, fd := range []int{0, 1, 2, int(s.file.Fd())} {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// start starts the shell.
func (s *supervisor) start() error {
	shell, err := findShell(os.Getenv("PATH"))
	if err != nil {
		return err
	}
	script, err := memoryFile(s.spec.Script)
	if err != nil {
		return err
	}
	defer script.Close()
	state, err := memoryFile([]byte(s.spec.Shell.Env))
	if err != nil {
		return err
	}
	defer state.Close()
	if s.state, err = memoryFile(nil); err != nil {
		return err
	}
	mark := os.Getenv(MarkName)
	w := wrapper{
		bash: filepath.Base(shell) == "bash", env: s.spec.Shell.Env != "", dir: s.spec.Dir, mark: mark,
		state: fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), s.state.Fd()),
	}
	env := append(os.Environ(), "PWD="+s.spec.Dir)
	if w.env {
		// The state brings the rest: what was unset stays unset.
		env = []string{"PWD=" + s.spec.Dir, MarkName + "=" + mark}
	}
	return s.fork(shell, w.text(), env, script, state)
}

// fork starts the shell. The record comes first: a command that may have had
// an effect is never taken for one that did not begin.
func (s *supervisor) fork(shell, text string, env []string, script, state *os.File) error {
	in, out, input, err := s.streams()
	if err != nil {
		return err
	}
	if err := s.noteBegin(); err != nil {
		return err
	}
	s.begun = time.Now()
	s.shell, err = syscall.ForkExec(shell, []string{filepath.Base(shell), "-c", text}, &syscall.ProcAttr{
		Env:   env,
		Files: []uintptr{in.Fd(), out.Fd(), out.Fd(), scriptFd: script.Fd(), envFd: state.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: s.spec.Terminal, Pdeathsig: syscall.SIGKILL},
	})
	// The shell's alone from here on, so that it is seen when it closes them.
	in.Close()
	out.Close()
	if err != nil {
		s.shell = 0
		return errors.Join(fmt.Errorf("start %s: %w", shell, err), s.file.Truncate(0))
	}
	s.output = newOutput(s.spec.Head, s.spec.Tail)
	if s.spec.Full != "" {
		s.output.file = &fullWriter{name: s.spec.Full}
	}
	go s.collect()
	// Not to pin the folder while background processes are watched.
	_ = os.Chdir("/")
	if s.job != nil {
		return s.announce(input)
	}
	s.noteGroup()
	return nil
}

func (s *supervisor) noteBegin() error {
	self, err := readProcess("self")
	if err != nil {
		return err
	}
	return record{Pid: self.pid, Start: self.start, Boot: bootID(), Space: pidSpace()}.note(s.file)
}

// noteGroup helps to find what is left if this supervisor is killed. Without
// it the processes are still known by their environment.
func (s *supervisor) noteGroup() {
	if p, err := readProcess(strconv.Itoa(s.shell)); err == nil {
		_ = record{Group: s.shell, GroupStart: p.start}.note(s.file)
	}
}

// refuse reports that the shell could not start in its folder, which is the
// command's own trouble. A shell that was left in a folder that is gone is put
// back to the root, or else no later command could start either.
func (s *supervisor) refuse(err error) {
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
	s.publish(Result{Output: replaceInvalid([]byte(text)), ExitCode: exitNoDir, Shell: state})
}

// publish makes the result last, then tells the program, if it is still there.
// Should the disk be full, the program still gets it. Only if both are so is
// the call lost, and Recall says so.
func (s *supervisor) publish(r Result) {
	_ = record{Result: &r}.note(s.file)
	s.tell(report{Result: &r})
}

func (s *supervisor) tell(r report) {
	if b, err := json.Marshal(r); err == nil {
		_, _ = os.Stdout.Write(append(b, '\n'))
	}
}
