package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// DefaultDeadline bounds the life of background processes that nobody ends.
const DefaultDeadline = 24 * time.Hour

// What lies in a sandbox's folder. Commands start in work; the records of the
// calls lie outside of it, where a command does not meet them by accident, and
// so do the sockets of the jobs, which are there from the first job on.
const (
	workFolder  = "work"
	callsFolder = "calls"
	jobsFolder  = "jobs"
	nonceFile   = "nonce"
)

// LocalOptions say where a local sandbox lies.
type LocalOptions struct {
	// Base is the sandbox's own folder, of this session and attempt alone.
	// Creating a sandbox creates it, and replaces one that a program which
	// died in between left there.
	Base string
	// Cwd is the row's cwd: "" is the work folder; a relative one lies in the
	// work folder and is created; an absolute one must exist and is shared.
	Cwd string
	// Nonce is the recorded identity of a sandbox to open again; "" creates one.
	Nonce string
	// Executable is the binary to start as supervisor; "" is this one.
	Executable string
	// Deadline is the life of a command's supervisor, and so the longest that
	// the command and its background processes live; zero is DefaultDeadline.
	Deadline time.Duration
	// Log is where oddities are told; nil is nowhere.
	Log *slog.Logger
}

// Local is a sandbox in a folder of this machine. It keeps sessions apart from
// each other, not commands from the machine: they run as the user that runs
// the program. The zero value is of no use; see OpenLocal.
type Local struct {
	opts  LocalOptions
	base  string // absolute, without symbolic links
	nonce string
	boot  string // of the machine when the sandbox was created
	root  string
	// reopened says that an earlier session of the program used the sandbox.
	reopened bool

	stopping chan struct{} // closed by Close
	calls    sync.WaitGroup
	closing  sync.Mutex // held by Close
	starting sync.Mutex // held while a job is started

	mu     sync.Mutex
	closed bool
	alive  map[*run]bool // supervisors that have not ended
	dirty  bool          // one of them did not end by itself
}

var _ Sandbox = (*Local)(nil)

// OpenLocal creates the sandbox in opts.Base, or opens it again if opts names a
// nonce. It returns ErrCwd if the row's cwd cannot be used, and ErrLost if the
// folder does not hold the nonce, if the machine was started anew and nobody
// settled the sandbox before (see Settle), or if a job is gone that nobody saw
// end: because the sandbox was closed or its supervisor killed. What is left of
// such a sandbox is ended.
func OpenLocal(opts LocalOptions) (*Local, error) {
	l, err := newLocal(opts)
	if err != nil {
		return nil, err
	}
	if err := CheckCwd(opts.Cwd); err != nil {
		return nil, err
	}
	if opts.Nonce != "" {
		err = l.reopen()
	} else {
		err = l.create()
	}
	if err != nil {
		return nil, err
	}
	switch {
	case filepath.IsAbs(opts.Cwd):
		l.root = filepath.Clean(opts.Cwd)
	default:
		l.root = filepath.Join(l.work(), opts.Cwd)
	}
	return l, nil
}

// newLocal makes a Local without touching its folder.
func newLocal(opts LocalOptions) (*Local, error) {
	base, err := filepath.Abs(opts.Base)
	if err != nil {
		return nil, fmt.Errorf("sandbox folder: %w", err)
	}
	if opts.Deadline <= 0 {
		opts.Deadline = DefaultDeadline
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Executable == "" {
		// The binary that runs, even if its file was replaced meanwhile.
		opts.Executable = "/proc/self/exe"
	}
	return &Local{opts: opts, base: base, nonce: opts.Nonce, stopping: make(chan struct{}), alive: map[*run]bool{}}, nil
}

// CheckCwd tells whether a row's cwd can be used, without creating anything: it
// returns nil or ErrCwd, wrapped with what is wrong.
func CheckCwd(cwd string) error {
	switch {
	case cwd == "" || !filepath.IsAbs(cwd) && filepath.IsLocal(cwd) && !strings.ContainsRune(cwd, 0):
		return nil
	case !filepath.IsAbs(cwd):
		return fmt.Errorf("%q leaves the work folder: %w", cwd, ErrCwd)
	}
	st, err := os.Stat(cwd)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCwd, err)
	}
	if !st.IsDir() {
		return fmt.Errorf("%q is no folder: %w", cwd, ErrCwd)
	}
	return nil
}

// create makes the folder; the nonce comes last, so that a folder without one
// was never used.
func (l *Local) create() error {
	if err := discard(context.Background(), l.base); err != nil {
		return err
	}
	if err := os.MkdirAll(l.base, 0o700); err != nil {
		return fmt.Errorf("create sandbox: %w", err)
	}
	if err := l.resolveBase(); err != nil {
		return err
	}
	for _, name := range []string{l.work(), filepath.Join(l.base, callsFolder)} {
		if err := os.Mkdir(name, 0o700); err != nil {
			return fmt.Errorf("create sandbox: %w", err)
		}
	}
	if err := l.createCwd(); err != nil {
		return errors.Join(err, removeTree(l.base))
	}
	l.nonce, l.boot = rand.Text(), bootID()
	if err := writeNonce(l.base, l.nonce, l.boot); err != nil {
		return fmt.Errorf("create sandbox: %w", err)
	}
	return nil
}

// createCwd creates a relative cwd. A name that no file system takes is the
// row's fault, anything else is not.
func (l *Local) createCwd() error {
	if l.opts.Cwd == "" || filepath.IsAbs(l.opts.Cwd) {
		return nil
	}
	err := os.MkdirAll(filepath.Join(l.work(), l.opts.Cwd), 0o700)
	if isNameError(err) {
		return fmt.Errorf("%w: %w", ErrCwd, err)
	}
	return err
}

func (l *Local) reopen() error {
	if err := l.resolveBase(); err != nil {
		return err
	}
	nonce, boot, err := readNonce(l.base)
	if err != nil {
		return fmt.Errorf("open sandbox %s: %w: %w", l.base, ErrLost, err)
	}
	if nonce != l.opts.Nonce {
		return fmt.Errorf("open sandbox %s: the folder is another one: %w", l.base, ErrLost)
	}
	// A work folder that is gone is what its own commands may have left; the
	// next one makes it again, as it would have without the interruption.
	if st, err := os.Lstat(l.work()); err == nil && !st.IsDir() {
		return fmt.Errorf("open sandbox %s: the work folder is something else: %w", l.base, ErrLost)
	}
	l.boot, l.reopened = boot, true
	why, err := l.lost()
	if err != nil {
		return fmt.Errorf("open sandbox %s: %w", l.base, err)
	}
	if why != "" {
		return errors.Join(fmt.Errorf("open sandbox %s: %s: %w", l.base, why, ErrLost), l.Close(context.Background(), false))
	}
	return nil
}

// lost returns why a sandbox cannot be relied on any more, "" if it can.
func (l *Local) lost() (why string, err error) {
	if l.boot != bootID() {
		return "the machine was started anew, and what was written shortly before may be gone", nil
	}
	id, err := l.lostJob()
	if id != "" {
		why = "job " + id + " is gone"
	}
	return why, err
}

// resolveBase makes the folder's name the one that commands see as theirs.
func (l *Local) resolveBase() error {
	base, err := filepath.EvalSymlinks(l.base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("open sandbox: %w: %w", ErrLost, err)
	case err != nil:
		return fmt.Errorf("open sandbox: %w", err)
	}
	l.base = base
	return nil
}

// writeNonce writes the nonce file. Over another one with the same nonce it is
// one write of the same length, so that no kill leaves half of it.
func writeNonce(base, nonce, boot string) error {
	f, err := os.OpenFile(filepath.Join(base, nonceFile), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(nonce + "\n" + boot + "\n")
	return errors.Join(err, f.Close())
}

func readNonce(base string) (nonce, boot string, err error) {
	b, err := os.ReadFile(filepath.Join(base, nonceFile))
	if err != nil {
		return "", "", err
	}
	nonce, rest, ok := strings.Cut(string(b), "\n")
	boot, _, ok2 := strings.Cut(rest, "\n")
	if !ok || !ok2 || nonce == "" {
		return "", "", errors.New("the nonce file is damaged")
	}
	return nonce, boot, nil
}

func (l *Local) work() string { return filepath.Join(l.base, workFolder) }

// enter admits one use of the sandbox; leave ends it.
func (l *Local) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	l.calls.Add(1)
	return nil
}

func (l *Local) leave() { l.calls.Done() }

// Nonce is the sandbox's identity, to be recorded.
func (l *Local) Nonce() string { return l.nonce }

// Root is the absolute folder in which the shell starts.
func (l *Local) Root() string { return l.root }

// SharedCwd says that the shell starts in a folder that is not the sandbox's own.
func (l *Local) SharedCwd() bool { return filepath.IsAbs(l.opts.Cwd) }

// Isolation names what separates commands from the machine: "none".
func (l *Local) Isolation() string { return "none" }

// Boot is the boot id of the machine when the sandbox was created.
func (l *Local) Boot() string { return l.boot }
