package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ResultsFolder is the folder in the work folder that holds what was too long
// to be shown. It tells git to leave it alone.
const ResultsFolder = ".hermes-results"

// MaxFull is the most that one file of that folder holds, in bytes. The logs of
// large builds and test suites fit; what prints without end fills no disk.
const MaxFull = 16 << 20

// A Full tells where all of an output lies of which only a part is shown.
type Full struct {
	// File is the absolute name of a regular file, for commands and Files
	// alike. It holds the bytes as they came; "" if there is none.
	File string `json:",omitempty"`
	// Size is the number of bytes in it: the first of the output.
	Size int64
	// Lost is the number of bytes that came after those and are in no file.
	Lost int64 `json:",omitempty"`
	// Problem says why there is no file.
	Problem string `json:",omitempty"`
}

// fullName is the name of the file for the output of a call.
func (l *Local) fullName(key string) string {
	return filepath.Join(l.work(), ResultsFolder, key+".txt")
}

// Keep implements Sandbox.
func (l *Local) Keep(key string, text []byte) (Full, error) {
	if err := l.enter(); err != nil {
		return Full{}, err
	}
	defer l.leave()
	if !validKey(key) {
		return Full{}, fmt.Errorf("keep %q: %w", key, ErrKey)
	}
	w := fullWriter{name: l.fullName(key)}
	w.write(text)
	w.close()
	return w.full(int64(len(text))), nil
}

// A fullWriter writes the file of a Full, up to MaxFull bytes. It makes the
// file with the first byte. Should the disk be full, it gives back what it has
// taken: how a command ended needs room, too.
type fullWriter struct {
	name    string
	file    *os.File // nil before the first byte, and when no more is to come
	size    int64
	problem error
	closed  bool
}

func (w *fullWriter) write(p []byte) {
	p = p[:min(int64(len(p)), MaxFull-w.size)]
	if len(p) == 0 || w.problem != nil || w.closed {
		return
	}
	if w.file == nil {
		if w.file, w.problem = createFull(w.name); w.problem != nil {
			return
		}
	}
	n, err := w.file.Write(p)
	w.size += int64(n)
	if err != nil {
		w.drop(err)
	}
}

// close ends the file; what is written from then on is lost.
func (w *fullWriter) close() {
	w.closed = true
	if w.file == nil {
		return
	}
	if err := w.file.Close(); err != nil {
		w.drop(err)
	}
	w.file = nil
}

// drop gives the file up.
func (w *fullWriter) drop(why error) {
	_ = w.file.Truncate(0) // should its name lead elsewhere by now
	_ = w.file.Close()
	_ = removeFull(w.name)
	w.file, w.size, w.problem = nil, 0, why
}

// full describes the file of an output that had total bytes.
func (w *fullWriter) full(total int64) Full {
	if w.problem != nil {
		var number unix.Errno
		if errors.As(w.problem, &number) {
			return Full{Lost: total, Problem: number.Error()}
		}
		return Full{Lost: total, Problem: w.problem.Error()}
	}
	return Full{File: w.name, Size: w.size, Lost: total - w.size}
}

// createFull makes a file of the results folder, and the folder if need be. An
// older file of the name goes: it is of a call that is run again.
func createFull(name string) (*os.File, error) {
	dir, err := openResults(name, true)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	base := filepath.Base(name)
	if err := unix.Unlinkat(dir, base, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return createAt(dir, base)
}

func createAt(dir int, base string) (*os.File, error) {
	fd, err := unix.Openat(dir, base, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), base), nil
}

func removeFull(name string) error {
	dir, err := openResults(name, false)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return unix.Unlinkat(dir, filepath.Base(name), 0)
}

// openResults opens the results folder that a file lies in. Commands may have
// put anything into its place or into that of the work folder: no symbolic
// link is followed in either, so that nothing is written outside.
func openResults(name string, create bool) (int, error) {
	results := filepath.Dir(name)
	work := filepath.Dir(results)
	const folder = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
	above, err := unix.Open(filepath.Dir(work), folder, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(above)
	within, err := unix.Openat(above, filepath.Base(work), folder|unix.O_NOFOLLOW, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(within)
	made := create && unix.Mkdirat(within, filepath.Base(results), 0o700) == nil
	dir, err := unix.Openat(within, filepath.Base(results), folder|unix.O_NOFOLLOW, 0)
	if err == nil && made {
		ignoreAll(dir)
	}
	return dir, err
}

// ignoreAll keeps a folder out of a repository that a command makes around it.
func ignoreAll(dir int) {
	if f, err := createAt(dir, ".gitignore"); err == nil {
		_, _ = f.WriteString("*\n")
		_ = f.Close()
	}
}
