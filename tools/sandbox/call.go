package sandbox

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const maxKey = 100 // bytes

// A call is the file that tells of one call. Its supervisor holds a lock on it
// and appends to it. One file and no folder: on some file systems to create
// one costs more than to run the command.
type call struct{ path string }

// A record is what a call's file says: a sequence of JSON objects, one a line,
// each adding its fields. It is empty until the call begins, and has a result
// once the call has ended. A last line that is not whole was never written.
type record struct {
	// Program says that the program itself carries the call out.
	Program bool `json:",omitempty"`
	// Pid and Start are the supervisor's, Start in clock ticks since boot.
	Pid   int    `json:",omitempty"`
	Start uint64 `json:",omitempty"`
	// Boot and Space tell where pids have a meaning.
	Boot  string `json:",omitempty"`
	Space string `json:",omitempty"`
	// Group is the process group and session of the shell.
	Group      int    `json:",omitempty"`
	GroupStart uint64 `json:",omitempty"`
	// Job is what the shell is, if it runs in the background.
	Job *Job `json:",omitempty"`
	// Result is how the command ended.
	Result *Result `json:",omitempty"`
	// Ended says that the supervisor left no process behind.
	Ended bool `json:",omitempty"`
}

// meaningful says whether the pids of the record mean the same here and now.
func (r record) meaningful() bool { return r.Boot == bootID() && r.Space == pidSpace() }

// wake lets the supervisor go on if its command has stopped it.
func (r record) wake() {
	if r.Pid > 0 && r.meaningful() {
		_ = process{pid: r.Pid, start: r.Start}.signal(unix.SIGCONT)
	}
}

func (l *Local) call(key string) (call, error) {
	if !validKey(key) {
		return call{}, fmt.Errorf("%q: %w", key, ErrKey)
	}
	return call{filepath.Join(l.base, callsFolder, key)}, nil
}

func validKey(key string) bool {
	if key == "" || key == "." || key == ".." || len(key) > maxKey {
		return false
	}
	for _, c := range []byte(key) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// open opens the call's file, empty and locked. The lock belongs to the open
// file, not to a process: a supervisor that inherits it holds it from before
// its first instruction, so that at no moment a call that will still begin
// looks like one that never does.
func (c call) open() (*os.File, error) {
	f, err := os.OpenFile(c.path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	}
	if err != nil {
		return nil, err
	}
	err = flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = f.Truncate(0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock call %s: %w", filepath.Base(c.path), err)
	}
	return f, nil
}

func flock(f *os.File, how int) error {
	for {
		switch err := unix.Flock(int(f.Fd()), how); err {
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return ErrBusy
		default:
			return err
		}
	}
}

// held says whether a supervisor holds the call.
func (c call) held() (bool, error) {
	f, err := os.Open(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	// Shared, so that two who look at once do not take each other for a supervisor.
	err = flock(f, unix.LOCK_SH|unix.LOCK_NB)
	if err == ErrBusy {
		return true, nil
	}
	return false, err
}

// read reads the record; begun is false if there is none.
func (c call) read() (r record, begun bool, err error) {
	b, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, false, nil
	}
	if err != nil {
		return record{}, false, err
	}
	return parseRecord(b), len(b) > 0, nil
}

func parseRecord(b []byte) (r record) {
	d := json.NewDecoder(bytes.NewReader(b))
	for {
		next := r
		next.Job, next.Result = nil, nil
		if err := d.Decode(&next); err != nil {
			return r
		}
		next.Job, next.Result = cmp.Or(next.Job, r.Job), cmp.Or(next.Result, r.Result)
		r = next
	}
}

// note appends to the record, in one write.
func (r record) note(f *os.File) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	return err
}
