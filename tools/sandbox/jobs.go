package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Jobs implements Sandbox.
func (l *Local) Jobs() Jobs { return localJobs{l} }

// localJobs asks the supervisors of the jobs. Nothing about a job is kept in
// this program, so that it knows those of its earlier sessions as well.
type localJobs struct{ *Local }

// socket is where the job of a call is reached.
func (l *Local) socket(key string) string { return filepath.Join(l.base, jobsFolder, key) }

// jobKeys names the calls that became jobs, or were about to.
func (l *Local) jobKeys() ([]string, error) {
	list, err := os.ReadDir(filepath.Join(l.base, jobsFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var keys []string
	for _, e := range list {
		if validKey(e.Name()) {
			keys = append(keys, e.Name())
		}
	}
	return keys, nil
}

// roomForJob returns ErrTooManyJobs if no other job may be started.
func (l *Local) roomForJob() error {
	keys, err := l.jobKeys()
	if err != nil || len(keys) < MaxJobs {
		return err
	}
	running := 0
	for _, key := range keys {
		held, err := call{filepath.Join(l.base, callsFolder, key)}.held()
		if err != nil {
			return err
		}
		if held {
			running++
		}
	}
	if running >= MaxJobs {
		return ErrTooManyJobs
	}
	return nil
}

// lostJob returns the id of a job that is gone without a recorded end, "" if
// there is none.
func (l *Local) lostJob() (id string, err error) {
	keys, err := l.jobKeys()
	if err != nil {
		return "", err
	}
	for _, key := range keys {
		c := call{filepath.Join(l.base, callsFolder, key)}
		held, err := c.held()
		if err != nil {
			return "", err
		}
		r, _, err := c.read()
		switch {
		case err != nil:
			return "", err
		case held, r.Result != nil:
		case r.Job == nil:
			// Nobody was told of it; Recall knows more.
		default:
			return jobID(key), nil
		}
	}
	return "", nil
}

// List implements Jobs.
func (l localJobs) List(ctx context.Context) ([]Job, error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.leave()
	keys, err := l.jobKeys()
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	var list []Job
	for _, key := range keys {
		a, err := l.ask(ctx, jobID(key), question{})
		if errors.Is(err, ErrNoJob) {
			continue
		}
		if err != nil {
			return nil, err
		}
		r := &a.Job.Result
		if over := len(r.Output) - ListOutput; over > 0 {
			short := cutStart(r.Output[over:])
			r.Dropped += int64(len(r.Output) - len(short))
			r.Output = short
		}
		list = append(list, a.Job)
	}
	slices.SortFunc(list, func(a, b Job) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.ID, b.ID)) })
	return list, nil
}

// Wait implements Jobs.
func (l localJobs) Wait(ctx context.Context, id string, limit time.Duration) (Job, error) {
	a, err := l.ask(ctx, id, question{Wait: limit})
	return a.Job, err
}

// Kill implements Jobs.
func (l localJobs) Kill(ctx context.Context, id string) (Job, error) {
	a, err := l.ask(ctx, id, question{Kill: true})
	return a.Job, err
}

// Write implements Jobs.
func (l localJobs) Write(ctx context.Context, id string, data []byte, last bool) (int, error) {
	q := question{Data: data, Last: last}
	a, err := l.ask(ctx, id, q)
	if err == nil && a.Refused != "" {
		err = fmt.Errorf("write to job %s: %w: %s", id, ErrInput, a.Refused)
	}
	return a.Written, err
}

// ask puts a question to the supervisor of a job. For one that has ended the
// record answers.
func (l *Local) ask(ctx context.Context, id string, q question) (answer, error) {
	if err := l.enter(); err != nil {
		return answer{}, err
	}
	defer l.leave()
	key := jobKey(id)
	c, err := l.call(key)
	if err != nil {
		return answer{}, fmt.Errorf("job %q: %w", id, ErrNoJob)
	}
	a, ended, err := c.endedJob()
	if err == nil && !ended {
		if r, _, err := c.read(); err == nil {
			r.wake()
		}
		a, err = l.askSupervisor(ctx, l.socket(key), q)
		if err != nil && ctx.Err() == nil && !l.isClosed() && c.waitFree(askLimit) {
			// It ended before it could answer.
			a, ended, err = c.endedJob()
			if err == nil && !ended {
				err = errors.Join(ErrLost, l.killCall(c, l.mark(key)))
			}
		}
	}
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case err != nil && l.isClosed():
		err = ErrClosed
	}
	if err != nil {
		return answer{}, fmt.Errorf("job %s: %w", id, err)
	}
	return a, nil
}

// endedJob answers from the record, if the job has ended.
func (c call) endedJob() (a answer, ended bool, err error) {
	r, _, err := c.read()
	switch {
	case err != nil:
		return a, false, err
	case r.Job == nil:
		return a, false, ErrNoJob
	case r.Result == nil:
		return a, false, nil
	}
	a = answer{Job: *r.Job, Refused: errEnded.Error()}
	a.Job.Result = *r.Result
	return a, true, nil
}

// askSupervisor talks with a supervisor that lives, and gives up when ctx or
// the sandbox ends.
func (l *Local) askSupervisor(ctx context.Context, socket string, q question) (a answer, err error) {
	conn, err := dial(socket)
	if err != nil {
		return a, fmt.Errorf("%w: %w", ErrSupervisor, err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, q.Wait+askLimit+DefaultGrace+killLimit)
	defer cancel()
	go func() {
		select {
		case <-ctx.Done():
		case <-l.stopping:
		}
		conn.Close()
	}()
	if err = json.NewEncoder(conn).Encode(q); err == nil {
		err = json.NewDecoder(conn).Decode(&a)
	}
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", ErrSupervisor, err)
	}
	return a, nil
}

// dial connects to a socket by a descriptor, since its path may be longer than
// an address can be.
func dial(path string) (net.Conn, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return net.Dial("unix", fmt.Sprintf("/proc/self/fd/%d", fd))
}
