package export

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"hermes-batch/db"
)

// receiver writes the files of an export into a folder. All are written under
// temporary names first.
type receiver struct {
	dir   string
	lock  *os.File // the mark
	vain  []string // what was made for this export, to be removed if it fails
	files []*received
}

// received is one file of an export.
type received struct {
	*replacement
	name  string
	ended bool
	proof *proof
}

// outputName is what files of an export are called.
var outputName = regexp.MustCompile(`^(trajectories\.jsonl|trajectories\.parquet|batch_[0-9]+\.jsonl|checkpoint\.json|statistics\.json|errors\.jsonl)$`)

// receive reads what Stream wrote and returns its report, with the paths and
// states of the files here.
func receive(in io.Reader, dir string) (*Report, error) {
	r := &receiver{dir: dir}
	defer r.close()
	dec := gob.NewDecoder(in)
	var data []byte
	for {
		m := message{Data: data[:0]}
		if err := dec.Decode(&m); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("export: %w", err)
		}
		if m.Report != nil && m.Report.Statistics != nil {
			return m.Report, r.install(m.Report)
		}
		if err := r.take(m); err != nil {
			return nil, err
		}
		data = m.Data
	}
}

func (r *receiver) take(m message) error {
	switch {
	case m.Run != "":
		return r.claim(m.Run)
	case r.lock == nil:
		return fmt.Errorf("export: %w: a file before the run", errGarbled)
	case m.Name != "":
		if m.File != len(r.files)+1 || !outputName.MatchString(m.Name) {
			return fmt.Errorf("export: %w: file %d is %q", errGarbled, m.File, m.Name)
		}
		r.files = append(r.files, &received{replacement: replace(filepath.Join(r.dir, m.Name)), name: m.Name})
		return nil
	case m.File < 1 || m.File > len(r.files) || r.files[m.File-1].ended:
		return fmt.Errorf("export: %w: part of file %d", errGarbled, m.File)
	}
	f := r.files[m.File-1]
	if m.End {
		f.ended, f.proof = true, m.Proof
		return f.seal()
	}
	_, err := f.Write(m.Data)
	return err
}

// markName is the file that tells a folder of an export from others. It holds
// the run's ID.
const markName = ".hermes-batch-export"

// claim takes the folder for files of this run.
func (r *receiver) claim(run string) error {
	if r.lock != nil {
		return fmt.Errorf("export: %w: two runs", errGarbled)
	}
	mark := filepath.Join(r.dir, markName)
	if err := r.inspect(mark, run); err != nil {
		return err
	}
	lock, err := os.OpenFile(mark, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrWrite, err)
	}
	r.lock = lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		r.vain = nil
		return fmt.Errorf("%w: --out: another export writes to %s", ErrRefused, r.dir)
	}
	if len(r.vain) == 0 {
		return nil
	}
	if _, err := lock.WriteString(run + "\n"); err != nil {
		return fmt.Errorf("%w: %w", ErrWrite, err)
	}
	return nil
}

// inspect makes the folder if there is none, and refuses one that holds
// anything but an export of the same run.
func (r *receiver) inspect(mark, run string) error {
	data, err := os.ReadFile(mark)
	switch {
	case err == nil && len(data) == 0: // of a program that was killed
		r.vain = []string{mark}
		return nil
	case err == nil && strings.TrimSpace(string(data)) != run:
		return fmt.Errorf("%w: --out: %s holds an export of another run", ErrRefused, r.dir)
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: --out: %w", ErrRefused, err)
	}
	entries, err := os.ReadDir(r.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := db.MakeFolder(r.dir); err != nil {
			return fmt.Errorf("%w: %w", ErrWrite, err)
		}
		r.vain = []string{mark, r.dir}
	case err != nil:
		return fmt.Errorf("%w: --out: %w", ErrRefused, err)
	case len(entries) > 0:
		return fmt.Errorf("%w: --out: %s holds other files, like %s", ErrRefused, r.dir, entries[0].Name())
	default:
		r.vain = []string{mark}
	}
	return nil
}

// install gives all files their names and completes the report.
func (r *receiver) install(rep *Report) error {
	for _, f := range r.files {
		if !f.ended {
			return fmt.Errorf("export: %w: %s does not end", errGarbled, f.name)
		}
	}
	for _, f := range r.files {
		at := slices.IndexFunc(rep.Files, func(x File) bool { return x.Path == f.name })
		if at < 0 {
			return fmt.Errorf("export: %w: %s is not in the report", errGarbled, f.name)
		}
		changed, err := f.install(f.proof)
		if err != nil {
			return err
		}
		rep.Files[at].Path, rep.Files[at].State = f.path, Unchanged
		if changed {
			rep.Files[at].State = Written
		}
	}
	if err := r.removeStale(rep); err != nil {
		return err
	}
	r.vain = nil
	if err := syncPath(r.dir); err != nil {
		return fmt.Errorf("%w: %w", ErrWrite, err)
	}
	return nil
}

// removeStale takes away the files of batches that have no rows any more, and
// puts those into the report that are not part of this export.
func (r *receiver) removeStale(rep *Report) error {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrWrite, err)
	}
	for _, e := range entries {
		path, batch := filepath.Join(r.dir, e.Name()), strings.HasPrefix(e.Name(), "batch_")
		switch {
		case !outputName.MatchString(e.Name()) || r.has(e.Name()):
		case !batch:
			rep.Files = append(rep.Files, File{Path: path, State: Earlier})
		case r.has("statistics.json"): // else no batch is part of this export
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("%w: %w", ErrWrite, err)
			}
			rep.Files = append(rep.Files, File{Path: path, State: Removed})
		}
	}
	return nil
}

func (r *receiver) has(name string) bool {
	return slices.ContainsFunc(r.files, func(f *received) bool { return f.name == name })
}

// close drops what was not installed, and the folder if it was made in vain.
func (r *receiver) close() {
	for _, f := range r.files {
		f.abort()
	}
	for _, path := range r.vain {
		os.Remove(path)
	}
	if r.lock != nil {
		r.lock.Close()
	}
}
