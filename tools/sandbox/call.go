package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// The files of one call.
const (
	startedFile = "started" // locked by the supervisor; empty until the call begins
	resultFile  = "result"  // appears when the call has ended
	scriptFile  = "script"
	envFile     = "env"
	stateFile   = "state" // what the shell left
)

const maxKey = 100 // bytes

// A call is the folder that holds the records of one call.
type call struct{ folder string }

// A mark is what the started file says. It grows: the file is a sequence of
// JSON objects, each adding its fields.
type mark struct {
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
	// Ended says that the supervisor left no process behind.
	Ended bool `json:",omitempty"`
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

func (c call) file(name string) string { return filepath.Join(c.folder, name) }

// create makes the call's folder anew and returns its started file, empty and
// locked. The lock belongs to the open file, not to a process: the supervisor
// inherits it and holds it from before its first instruction, so that at no
// moment a call that will still begin looks like one that never does.
func (c call) create() (*os.File, error) {
	err := os.Mkdir(c.folder, 0o700)
	if errors.Is(err, fs.ErrExist) {
		if err = c.clear(); err == nil {
			err = os.Mkdir(c.folder, 0o700)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	case err != nil:
		return nil, err
	}
	return openStarted(c.file(startedFile))
}

func openStarted(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(f, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return f, nil
}

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if err != unix.EINTR {
			return err
		}
	}
}

// clear removes the records of an earlier try under the same key.
func (c call) clear() error {
	held, err := c.held()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if held {
		return fmt.Errorf("%s: %w", filepath.Base(c.folder), ErrBusy)
	}
	return os.RemoveAll(c.folder)
}

// held says whether a supervisor holds the call. It returns fs.ErrNotExist for
// a call without a started file.
func (c call) held() (bool, error) {
	f, err := os.Open(c.file(startedFile))
	if err != nil {
		return false, err
	}
	defer f.Close()
	// Shared, so that two who look at once do not take each other for a supervisor.
	err = flock(f, unix.LOCK_SH|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		return true, nil
	}
	return false, err
}

// mark reads the started file; begun is false if it is empty or not there. A
// line that was being written when its writer died counts as not written.
func (c call) mark() (m mark, begun bool, err error) {
	b, err := os.ReadFile(c.file(startedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return mark{}, false, nil
	}
	if err != nil {
		return mark{}, false, err
	}
	m, begun = parseMark(b)
	return m, begun, nil
}

func parseMark(b []byte) (m mark, begun bool) {
	d := json.NewDecoder(bytes.NewReader(b))
	for {
		next := m
		if err := d.Decode(&next); err != nil {
			return m, len(b) > 0
		}
		m = next
	}
}

// appendMark adds to the started file, in one write.
func appendMark(f *os.File, m mark) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	return err
}

// result reads the call's result; ok is false if there is none.
func (c call) result() (r Result, ok bool, err error) {
	b, err := os.ReadFile(c.file(resultFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Result{}, false, nil
	}
	if err != nil {
		return Result{}, false, err
	}
	if err := json.Unmarshal(b, &r); err != nil {
		// Renamed into place whole; only a crash of the machine leaves this.
		return Result{}, false, nil
	}
	return r, true, nil
}

// waitFree waits until no supervisor holds the call.
func (c call) waitFree(limit time.Duration) bool {
	for end := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		held, err := c.held()
		if !held && (err == nil || errors.Is(err, fs.ErrNotExist)) {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}
