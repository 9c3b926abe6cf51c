package sandbox

import "errors"

var (
	// ErrClosed is returned by every method of a sandbox that was closed.
	ErrClosed = errors.New("sandbox is closed")
	// ErrLost is returned when a sandbox's folder is gone or is not the one that was recorded.
	ErrLost = errors.New("sandbox is lost")
	// ErrCwd is returned when a row's cwd leaves the work folder, or is absolute and no existing folder.
	ErrCwd = errors.New("cwd cannot be used")
	// ErrOutside is returned for a file name that leads out of the sandbox's roots.
	ErrOutside = errors.New("outside of the work folder")
	// ErrNotRegular is returned when a folder, a pipe or a device is read or written as a file.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge is returned when a file has more bytes than the caller wants to read.
	ErrTooLarge = errors.New("file is too large")
	// ErrKey is returned for a call's key that cannot name a folder.
	ErrKey = errors.New("bad call key")
	// ErrBusy is returned when a call is started whose key names a call that still runs.
	ErrBusy = errors.New("call is still running")
	// ErrNoJob is returned for an id that is not the one of a job of the sandbox.
	ErrNoJob = errors.New("no such job")
	// ErrTooManyJobs is returned when a command is started in the background while MaxJobs run.
	ErrTooManyJobs = errors.New("too many jobs")
	// ErrInput is returned when a job does not take all of its input: it has ended, its input was closed, or it does not read.
	ErrInput = errors.New("input is not taken")
	// ErrSupervisor is returned when a command's supervisor cannot start or ends without a result.
	ErrSupervisor = errors.New("command supervisor broke")
)
