package sandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// SuperviseArg is the first argument with which this binary is a supervisor.
const SuperviseArg = "__supervise"

// LocalOptions say where a local sandbox lies.
type LocalOptions struct {
	// Base is the sandbox's own folder; created. It holds work, calls and nonce.
	Base string
	// Cwd is the row's cwd: "" is the work folder; a relative one lies in the
	// work folder and is created; an absolute one must exist and is shared.
	Cwd string
	// Nonce is the recorded identity of a sandbox to open again; "" creates one.
	Nonce string
	// Executable is the binary to start as supervisor; "" is this one.
	Executable string
	// Deadline is the life of a command's supervisor, and of the background
	// processes that it watches; zero is DefaultDeadline.
	Deadline time.Duration
	// Log is where oddities are told; nil is nowhere.
	Log *slog.Logger
}

// DefaultDeadline bounds the life of background processes that nobody ends.
const DefaultDeadline = 24 * time.Hour

// Local is a sandbox in a folder of this machine. It separates sessions from
// each other, not the machine from the commands: they run as the user that
// runs the program.
type Local struct {
	opts   LocalOptions
	nonce  string
	root   string
	shared bool

	mu     sync.Mutex
	closed bool
	done   map[string]Result
	begun  map[string]bool
}

var _ Sandbox = (*Local)(nil)

// OpenLocal creates the sandbox in opts.Base, or opens it again if opts names a
// nonce; it returns ErrLost if the folder does not hold that nonce, and ErrCwd
// if the row's cwd cannot be used.
func OpenLocal(opts LocalOptions) (*Local, error) {
	l := &Local{opts: opts, nonce: opts.Nonce, done: map[string]Result{}, begun: map[string]bool{}}
	work := filepath.Join(opts.Base, "work")
	if l.nonce == "" {
		l.nonce = rand.Text()
		if err := os.MkdirAll(work, 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(opts.Base, "nonce"), []byte(l.nonce), 0o600); err != nil {
			return nil, err
		}
	}
	if b, err := os.ReadFile(filepath.Join(opts.Base, "nonce")); err != nil || string(b) != l.nonce {
		return nil, fmt.Errorf("open %s: %w", opts.Base, ErrLost)
	}
	switch {
	case filepath.IsAbs(opts.Cwd):
		if st, err := os.Stat(opts.Cwd); err != nil || !st.IsDir() {
			return nil, fmt.Errorf("%s is no folder: %w", opts.Cwd, ErrCwd)
		}
		l.root, l.shared = opts.Cwd, true
	case opts.Cwd == "" || filepath.IsLocal(opts.Cwd):
		l.root = filepath.Join(work, opts.Cwd)
		if err := os.MkdirAll(l.root, 0o700); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("%s leaves the work folder: %w", opts.Cwd, ErrCwd)
	}
	return l, nil
}

// Nonce is the sandbox's identity, to be recorded.
func (l *Local) Nonce() string { return l.nonce }

// Root is the absolute folder in which the shell starts.
func (l *Local) Root() string { return l.root }

// SharedCwd says that the shell starts in a folder outside of the sandbox.
func (l *Local) SharedCwd() bool { return l.shared }

// Isolation names what separates commands from the machine: "none".
func (l *Local) Isolation() string { return "none" }

// Boot is the boot id of the machine when the sandbox was created.
func (l *Local) Boot() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
}

// Exec implements Sandbox.
func (l *Local) Exec(ctx context.Context, c Command) (Result, error) {
	if c.Timeout > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	start := time.Now()
	cmd := exec.CommandContext(ctx, "bash", "-c", c.Script)
	cmd.Dir = l.root
	if c.Shell.Cwd != "" {
		cmd.Dir = c.Shell.Cwd
	}
	if c.Dir != "" {
		cmd.Dir = c.Dir
	}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + l.root, "TERM=dumb"}
	out, err := cmd.CombinedOutput()
	r := Result{Output: bytes.ToValidUTF8(out, []byte("\uFFFD")), ExitCode: cmd.ProcessState.ExitCode(), Shell: c.Shell, Took: time.Since(start)}
	var exit *exec.ExitError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		r.TimedOut, r.ExitCode = true, 124
	case ctx.Err() != nil:
		return Result{}, ctx.Err()
	case err != nil && !errors.As(err, &exit):
		return Result{}, err
	}
	l.mu.Lock()
	l.done[c.Key] = r
	l.mu.Unlock()
	return r, nil
}

// Recall implements Sandbox.
func (l *Local) Recall(_ context.Context, key string) (Result, CallState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r, ok := l.done[key]; ok {
		r.Recovered = true
		return r, CallDone, nil
	}
	if l.begun[key] {
		return Result{}, CallLost, nil
	}
	return Result{}, CallNever, nil
}

// Begin implements Sandbox.
func (l *Local) Begin(key string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun[key] = true
	return nil
}

// Files implements Sandbox.
func (l *Local) Files() Files { return localFiles{l.root} }

// Close implements Sandbox.
func (l *Local) Close(_ context.Context, remove bool) error {
	if remove {
		return os.RemoveAll(l.opts.Base)
	}
	return nil
}

type localFiles struct{ root string }

func (f localFiles) with(name string, do func(r *os.Root, rel string) error) error {
	if filepath.IsAbs(name) {
		rel, err := filepath.Rel(f.root, name)
		if err != nil || !filepath.IsLocal(rel) {
			return fmt.Errorf("%s: %w", name, ErrOutside)
		}
		name = rel
	}
	r, err := os.OpenRoot(f.root)
	if err != nil {
		return err
	}
	defer r.Close()
	return do(r, name)
}

func (f localFiles) ReadFile(name string, max int64) (b []byte, err error) {
	err = f.with(name, func(r *os.Root, rel string) error { b, err = r.ReadFile(rel); return err })
	return b, err
}

func (f localFiles) Open(name string) (file fs.File, err error) {
	err = f.with(name, func(r *os.Root, rel string) error { file, err = r.Open(rel); return err })
	return file, err
}

func (f localFiles) WriteFile(name string, data []byte) (made bool, err error) {
	err = f.with(name, func(r *os.Root, rel string) error {
		if _, err := r.Stat(filepath.Dir(rel)); err != nil {
			made = true
			if err := r.MkdirAll(filepath.Dir(rel), 0o755); err != nil {
				return err
			}
		}
		return r.WriteFile(rel, data, 0o644)
	})
	return made, err
}

func (f localFiles) Stat(name string) (st fs.FileInfo, err error) {
	err = f.with(name, func(r *os.Root, rel string) error { st, err = r.Stat(rel); return err })
	return st, err
}

func (f localFiles) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = f.with(name, func(r *os.Root, rel string) error { list, err = fs.ReadDir(r.FS(), filepath.Clean(rel)); return err })
	return list, err
}

func (f localFiles) Remove(name string) error {
	return f.with(name, func(r *os.Root, rel string) error { return r.Remove(rel) })
}

func (f localFiles) Rename(from, to string) error {
	return f.with(from, func(r *os.Root, rel string) error { return r.Rename(rel, to) })
}

// Supervise is the supervisor of one command; main calls it before anything
// else when the first argument is SuperviseArg, and exits with what it returns.
func Supervise() int { return 2 }

// Sweep removes the sandboxes that lie in dir, one folder each, apart from
// those whose folder's name is to be kept, and ends what still runs in them.
// It returns how many were removed.
func Sweep(ctx context.Context, dir string, keep func(name string) bool) (int, error) {
	list, err := os.ReadDir(dir)
	n := 0
	for _, e := range list {
		if !keep(e.Name()) && os.RemoveAll(filepath.Join(dir, e.Name())) == nil {
			n++
		}
	}
	return n, err
}
