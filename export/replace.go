package export

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// replacement writes the new content of one file. What is written is compared
// with the present content for as long as both agree, and nothing touches the
// disk until they differ: only then the temporary file is made, and what was
// equal is copied into it. So a file that is up to date costs one reading.
//
// Once it is written it is sealed, and then installed; commit does both. An
// abort ends it before that, and does nothing after it.
type replacement struct {
	path string
	old  *os.File      // the present file while it agrees, else nil
	in   *bufio.Reader // over old
	same int64         // bytes that agreed so far
	tmp  *os.File      // nil while nothing differs
	out  *bufio.Writer // over tmp
	made bool          // the new content lies under the temporary name
}

const bufferSize = 128 << 10

var (
	readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, bufferSize) }}
	writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, bufferSize) }}
)

// replace begins the replacement of the file at path, which need not exist.
func replace(path string) *replacement {
	f := &replacement{path: path}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return f
	}
	if f.old, err = os.Open(path); err != nil {
		f.old = nil
		return f
	}
	f.in = readers.Get().(*bufio.Reader)
	f.in.Reset(f.old)
	return f
}

// temporary is the name under which a file's new content is written. It is
// fixed, so that what a killed program left behind is found and replaced.
func temporary(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp")
}

// Write implements io.Writer.
func (f *replacement) Write(p []byte) (int, error) {
	if f.tmp == nil {
		agreed := f.agree(p)
		if agreed == len(p) {
			return len(p), nil
		}
		if err := f.diverge(); err != nil {
			return 0, f.fail(err)
		}
		if _, err := f.out.Write(p[agreed:]); err != nil {
			return 0, f.fail(err)
		}
		return len(p), nil
	}
	n, err := f.out.Write(p)
	if err != nil {
		return n, f.fail(err)
	}
	return n, nil
}

// agree tells how many bytes of p the present file goes on with.
func (f *replacement) agree(p []byte) int {
	if f.old == nil {
		return 0
	}
	agreed := 0
	for agreed < len(p) {
		want := p[agreed:min(len(p), agreed+bufferSize)]
		got, _ := f.in.Peek(len(want))
		if !bytes.Equal(got, want) {
			break
		}
		f.in.Discard(len(got))
		agreed += len(got)
	}
	f.same += int64(agreed)
	return agreed
}

// diverge makes the temporary file and fills it with what agreed so far.
func (f *replacement) diverge() error {
	name := temporary(f.path)
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	tmp, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	f.tmp, f.made = tmp, true
	f.out = writers.Get().(*bufio.Writer)
	f.out.Reset(tmp)
	if f.same == 0 {
		return nil
	}
	if _, err := f.old.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.CopyN(tmp, f.old, f.same)
	return err
}

// commit puts the new content in the file's place and tells whether anything
// changed. With a proof, new content is read back before that. The caller
// syncs the folder. On an error the old content stays.
func (f *replacement) commit(what *proof) (changed bool, err error) {
	if err := f.seal(); err != nil {
		f.abort()
		return false, err
	}
	return f.install(what)
}

// seal ends the writing and closes all files.
func (f *replacement) seal() error {
	defer f.release()
	if f.tmp == nil {
		if f.old != nil {
			if _, err := f.in.Peek(1); err == io.EOF {
				os.Remove(temporary(f.path)) // of a program that was killed
				return nil
			}
		}
		if err := f.diverge(); err != nil {
			return f.fail(err)
		}
	}
	err := f.out.Flush()
	if err == nil {
		err = f.untouched()
	}
	if err == nil {
		err = f.tmp.Close()
	}
	if err != nil {
		return f.fail(err)
	}
	return nil
}

// untouched implements output.
func (f *replacement) untouched() error {
	if f.tmp == nil {
		return nil
	}
	wrote, err := f.tmp.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	file, err := f.tmp.Stat()
	if err != nil {
		return err
	}
	named, err := os.Lstat(temporary(f.path))
	if err != nil {
		return err
	}
	if !os.SameFile(file, named) || file.Size() != wrote {
		return errTouched
	}
	return nil
}

// install gives the sealed content its name.
func (f *replacement) install(what *proof) (changed bool, err error) {
	defer f.abort()
	if !f.made {
		return false, nil
	}
	name := temporary(f.path)
	if what != nil {
		if err := what.check(name); err != nil {
			return false, f.fail(err)
		}
	}
	if err := syncPath(name); err != nil {
		return false, f.fail(err)
	}
	if err := os.Rename(name, f.path); err != nil {
		return false, f.fail(err)
	}
	f.made = false
	return true, nil
}

// abort drops what was written and removes the temporary file.
func (f *replacement) abort() {
	f.release()
	if f.made {
		os.Remove(temporary(f.path))
		f.made = false
	}
}

// release closes what is open.
func (f *replacement) release() {
	if f.old != nil {
		f.old.Close()
		f.in.Reset(nil)
		readers.Put(f.in)
		f.old, f.in = nil, nil
	}
	if f.tmp != nil {
		f.tmp.Close()
		f.out.Reset(nil)
		writers.Put(f.out)
		f.tmp, f.out = nil, nil
	}
}

func (f *replacement) fail(err error) error {
	return fmt.Errorf("%w %s: %w", ErrWrite, f.path, err)
}

// syncPath makes a file's content durable, or what happened in a folder.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
