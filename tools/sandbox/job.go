package sandbox

import (
	"context"
	"strings"
	"time"
)

// Jobs are the commands of a sandbox that run in the background. A job is known
// by the id in the Result of its Exec. Every method returns ErrNoJob for an id
// that names none, and ErrLost for a job that is gone without anybody knowing
// how it ended.
type Jobs interface {
	// List returns the jobs in the order of their start, the ended ones as
	// well. Of their output it returns the last ListOutput bytes.
	List(ctx context.Context) ([]Job, error)

	// Wait waits for the end of a job, for at most limit, and returns how it
	// stands then. A limit of zero only looks.
	Wait(ctx context.Context, id string, limit time.Duration) (Job, error)

	// Write writes to the standard input of a job, and ends it if last is set:
	// by closing a pipe, or by the character for it on a terminal, after which
	// a terminal takes more. It returns the number of bytes that were taken,
	// and ErrInput if not all were.
	Write(ctx context.Context, id string, data []byte, last bool) (int, error)

	// Kill ends every process of a job as at a timeout and returns how it
	// ended. One that has ended stays as it is.
	Kill(ctx context.Context, id string) (Job, error)
}

// A Job is a command that was started in the background. It lives until its
// shell ends, or the sandbox.
type Job struct {
	// ID follows from the call's key.
	ID string
	// Script is the beginning of the command, at most 1,000 bytes.
	Script string
	// Dir is the folder in which it was started.
	Dir string
	// PID is the shell's process id, as the sandbox's commands see it.
	PID int
	// Started is when it was started.
	Started time.Time
	// Running says that the shell has not ended.
	Running bool `json:",omitzero"`
	// Result is how the job ended. Of one that runs it has the time since the
	// start and the output so far. Output is the last JobOutput bytes, and
	// Dropped the number of those before; Shell is not set.
	Result Result `json:",omitzero"`
}

// Limits of the jobs of a sandbox.
const (
	// MaxJobs is how many run at a time, those counted of which only processes
	// that outlived the shell run.
	MaxJobs = 64
	// JobOutput is how much of a job's output is kept, in bytes.
	JobOutput = 200_000
	// ListOutput is how much of it List returns, in bytes.
	ListOutput = 1000
)

const maxJobScript = 1000 // bytes

const jobPrefix = "proc_"

// jobID is the id of the job that the call of that key started.
func jobID(key string) string { return jobPrefix + key }

// jobKey is the reverse of jobID; it returns a key that is none for an id that
// is none.
func jobKey(id string) string {
	key, ok := strings.CutPrefix(id, jobPrefix)
	if !ok {
		return ""
	}
	return key
}
