package export

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// output takes the content of one file. Exactly one of commit and abort ends
// it; abort after commit does nothing.
type output interface {
	io.Writer

	// untouched tells whether what was written so far is still there: it may
	// lie under its temporary name for as long as a run takes.
	untouched() error

	// commit completes the file and tells whether its bytes changed. With a
	// proof, what was written has to read back as what the proof says.
	commit(*proof) (changed bool, err error)
	abort()
}

// place is where rendered files go.
type place interface {
	begin(path string) output
	// remove takes away a file that must not be there, and tells whether it was.
	remove(path string) (bool, error)
	// sync makes what happened durable.
	sync() error
}

// folders is the place of files on disk.
type folders struct {
	changed []string // to be synced
}

func (f *folders) begin(path string) output { return &placed{replacement: replace(path), folders: f} }

func (f *folders) remove(path string) (was bool, err error) {
	for _, name := range []string{temporary(path), path} {
		err := os.Remove(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return false, fmt.Errorf("%w: %w", ErrWrite, err)
		case name == path:
			f.touch(path)
			was = true
		}
	}
	return was, nil
}

// touch remembers that a file's folder has to be synced.
func (f *folders) touch(path string) {
	if dir := filepath.Dir(path); !slices.Contains(f.changed, dir) {
		f.changed = append(f.changed, dir)
	}
}

func (f *folders) sync() error {
	var errs []error
	for _, dir := range f.changed {
		if err := syncPath(dir); err != nil {
			errs = append(errs, fmt.Errorf("%w: sync folder %s: %w", ErrWrite, dir, err))
		}
	}
	f.changed = f.changed[:0]
	return errors.Join(errs...)
}

// placed is a replacement that tells its folder.
type placed struct {
	*replacement
	folders *folders
}

func (p *placed) commit(what *proof) (bool, error) {
	changed, err := p.replacement.commit(what)
	if changed {
		p.folders.touch(p.path)
	}
	return changed, err
}

// file is an output file on its way into a report.
type file struct {
	output
	path string
	rows int
	size int64
	err  error // the first one of writing, which finish tells again
}

func (r *Renderer) begin(path string) *file { return &file{output: r.place.begin(path), path: path} }

// Write implements io.Writer.
func (f *file) Write(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.output.Write(p)
	f.size += int64(n)
	f.err = err
	return n, err
}

// add writes one line, which has its line end.
func (f *file) add(line []byte) error {
	f.rows++
	_, err := f.Write(line)
	return err
}

// finish puts a file in its place and into the report.
func (r *Renderer) finish(rep *Report, f *file, what *proof) error {
	if f.err != nil {
		f.abort()
		return f.err
	}
	changed, err := f.commit(what)
	if err != nil {
		return err
	}
	state := Unchanged
	if changed {
		state = Written
	}
	rep.Files = append(rep.Files, File{Path: f.path, State: state, Rows: f.rows, Bytes: f.size})
	return nil
}
