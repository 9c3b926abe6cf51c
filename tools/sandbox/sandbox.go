package sandbox

import (
	"context"
	"io/fs"
	"time"
)

// A Sandbox runs the commands and holds the files of one attempt of a session.
// It is safe for concurrent use. Every method returns [ErrClosed] after Close.
type Sandbox interface {
	// Exec runs a command and waits for it. An error means that the sandbox is
	// broken; a non-zero exit, a timeout or a folder that is gone are Results.
	// When ctx ends, the command is ended without a result and Exec returns
	// ctx's error; a later Recall says CallLost. A command in the background
	// is only started; Exec returns ErrTooManyJobs if MaxJobs run.
	Exec(ctx context.Context, c Command) (Result, error)

	// Recall says what became of a call of an earlier session of the program.
	// It waits for a command that still runs, and ends what is left of one
	// that nobody watches any more. Of a command in the background it returns
	// what Exec does.
	Recall(ctx context.Context, key string) (Result, CallState, error)

	// Begin marks a call that the program carries out itself as begun, so that
	// Recall says CallLost if the program does not survive it.
	Begin(key string) error

	// Keep puts a text that is too long to be shown where the whole output of a
	// command would be, in a file named after the key. That it cannot be kept
	// is no error: the Full says so.
	Keep(key string, text []byte) (Full, error)

	// Jobs gives access to the commands that run in the background.
	Jobs() Jobs

	// Files gives access to the files inside the sandbox's roots.
	Files() Files

	// Close ends every process of the sandbox and, with remove, deletes its
	// folder. It may be called again, also to remove what an earlier call kept.
	Close(ctx context.Context, remove bool) error
}

// A Command is one call of a shell.
type Command struct {
	// Key names the call; unique within the sandbox. Letters, digits, '.', '_'
	// and '-', at most 100.
	Key string
	// Script is run as by `bash -c`, or `sh -c` where there is no bash.
	Script string
	// Dir is the folder in which this call's shell starts; relative to
	// Shell.Cwd. "" is Shell.Cwd itself.
	Dir string
	// Shell is the state to start from; the zero value is a new shell.
	Shell Shell
	// Background starts the command as a Job, which lives until the sandbox is
	// closed. Its standard input is open, and its shell's state goes nowhere.
	Background bool
	// Terminal gives the command a terminal of its own, of TerminalRows and
	// TerminalColumns, instead of pipes. In the foreground nobody types there:
	// the first read finds the end of the input. As on every terminal, what
	// the shell leaves running is hung up when it ends.
	Terminal bool
	// Timeout ends the command; zero leaves it to the sandbox's own deadline.
	Timeout time.Duration
	// Grace lies between the polite and the forced end at the timeout; zero is
	// DefaultGrace.
	Grace time.Duration
	// Head and Tail are the bytes kept of the beginning and the end of the
	// output; both zero are DefaultHead and DefaultTail. In the background the
	// last JobOutput bytes are kept instead. All of a longer output goes to a
	// file, see Full.
	Head, Tail int
}

// Defaults of a Command.
const (
	DefaultGrace = 2 * time.Second
	DefaultHead  = 20_000 // bytes
	DefaultTail  = 30_000 // bytes
)

// A Shell is what one call's shell leaves to the next.
type Shell struct {
	// Cwd is the shell's folder; "" is the sandbox's root.
	Cwd string
	// Env is the exported environment as text that the same shell can source;
	// "" is the clean base environment.
	Env string
}

// A Result is how a command ended.
type Result struct {
	// Output is stdout and stderr in the order in which they were written:
	// head, a line that names the dropped bytes if there are any, tail. It is
	// valid UTF-8.
	Output []byte
	// Dropped is the number of bytes of output that were not kept.
	Dropped int64
	// Full tells where all of the output is if Output is not; else it is nil.
	// It is written as the output comes, so that Recall finds it as well.
	Full *Full `json:",omitempty"`
	// ExitCode is the shell's exit status, 128+n after signal n, 124 after a
	// timeout, 126 if the shell could not start in its folder.
	ExitCode int
	// Signal is the name of the signal that ended the shell, such as SIGKILL.
	Signal string
	// TimedOut says that the timeout ended the command.
	TimedOut bool
	// Killed says that Jobs.Kill ended the command.
	Killed bool `json:",omitempty"`
	// Shell is the state after the command; as before where it is unknown.
	Shell Shell
	// Took is the command's wall time.
	Took time.Duration
	// Recovered says that Recall found the result.
	Recovered bool
	// Job is what a command in the background became; nil if it could not be
	// started, which the rest tells. With a Job that is not set.
	Job *Job `json:",omitempty"`
}

// A CallState is what Recall knows of a call.
type CallState int

const (
	// CallNever means that the call did not begin.
	CallNever CallState = iota
	// CallDone means that the call ended and its Result is known.
	CallDone
	// CallLost means that the call began and that nobody knows how it ended.
	CallLost
)

// Files are the files of a sandbox. Names are absolute and inside one of its
// roots, or relative to the folder in which its shell starts. A name or a
// symbolic link that leads out of the roots is refused with ErrOutside.
type Files interface {
	// ReadFile reads a regular file of at most max bytes; a larger one is
	// ErrTooLarge, anything else than a regular file ErrNotRegular.
	ReadFile(name string, max int64) ([]byte, error)
	// Open opens a regular file for reading.
	Open(name string) (fs.File, error)
	// WriteFile replaces a file in one step, keeps the mode of an existing one
	// and creates missing parents, which it reports.
	WriteFile(name string, data []byte) (dirsCreated bool, err error)
	// Stat follows symbolic links.
	Stat(name string) (fs.FileInfo, error)
	// ReadDir lists a folder, sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Remove removes a file, a symbolic link or an empty folder.
	Remove(name string) error
	// Rename moves a file within one root.
	Rename(from, to string) error
}
