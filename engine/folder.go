package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hermes-batch/db"
)

// Folder is where a run lies.
type Folder struct {
	Dir    string // of the store and the output files
	Name   string // of the run
	Output string // the short form's file of rows; "" otherwise
}

// dataRoot holds the folders of runs, relative to the working folder.
const dataRoot = "data"

// runFolder is the folder of a run by name. The name is checked.
func runFolder(name string) (Folder, error) {
	if !runName().MatchString(name) {
		return Folder{}, Usagef("--run_name: %q is no name of a run: a letter or digit, then letters, digits, '.', '_' or '-', at most 100", name)
	}
	return Folder{Dir: filepath.Join(dataRoot, name), Name: name}, nil
}

// Folder is the folder that the options name.
func (o *Options) Folder() (Folder, error) {
	if !o.short() {
		if o.RunName == "" {
			return Folder{}, o.missing()
		}
		return runFolder(o.RunName)
	}
	if err := o.validateShort(); err != nil {
		return Folder{}, err
	}
	if info, err := os.Stat(o.Output); err == nil && !info.Mode().IsRegular() {
		return Folder{}, Usagef("--output: %s is no regular file", o.Output)
	}
	return Folder{Dir: o.Output + ".run", Name: filepath.Base(o.Output), Output: o.Output}, nil
}

// Store is the path of the folder's store.
func (f Folder) Store() string { return filepath.Join(f.Dir, "run.db") }

// Find opens the store of an existing run. It returns nil when the run is to
// be started, and an error that satisfies ErrUsage when the folder must not be
// touched under these options. Overwrite moves the old folder aside.
func (f Folder) Find(o *Options, opts db.Options) (*db.Store, error) {
	found, err := exists(f.Store())
	if err != nil {
		return nil, err
	}
	switch {
	case o.Overwrite:
		return nil, nil
	case found && !o.Resume && f.Output == "":
		return nil, f.taken()
	case found:
		return db.Open(f.Store(), opts)
	}
	return nil, f.refuseForeign()
}

func (f Folder) taken() error {
	return Usagef("run %q exists already in %s: --resume goes on with it, --overwrite moves it aside and starts anew", f.Name, f.Dir)
}

// refuseForeign protects output that this program did not write.
func (f Folder) refuseForeign() error {
	if f.Output != "" {
		if there, err := exists(f.Output); err != nil || there {
			return errors.Join(err, Usagef("%s exists but its store %s does not: name another --output, or move the file away", f.Output, f.Store()))
		}
	}
	batches, _ := filepath.Glob(filepath.Join(globEscape(f.Dir), "batch_*.jsonl"))
	for _, path := range batches {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			return Usagef("%s holds batch files but no store (run.db): the store is gone, or another program wrote them. They are not overwritten; use another --run_name, or --overwrite to move the folder aside", f.Dir)
		}
	}
	return nil
}

func globEscape(path string) string {
	var out []rune
	for _, r := range path {
		if r == '*' || r == '?' || r == '[' || r == '\\' {
			out = append(out, '\\')
		}
		out = append(out, r)
	}
	return string(out)
}

// moveAside renames an existing folder (and the short form's output) so that
// a new run can take its place. It refuses while another process holds the
// store.
func (f Folder) moveAside(now time.Time) error {
	if there, err := exists(f.Dir); err != nil {
		return err
	} else if there {
		if err := f.refuseLocked(); err != nil {
			return err
		}
	}
	for _, path := range []string{f.Dir, f.Output} {
		if path == "" {
			continue
		}
		if err := moveAside(path, now); err != nil {
			return fmt.Errorf("--overwrite: %w", err)
		}
	}
	return nil
}

func (f Folder) refuseLocked() error {
	s, err := db.Open(f.Store(), db.Options{ReadOnly: true})
	if err == nil {
		return s.Close()
	}
	if errors.Is(err, db.ErrLocked) {
		return err
	}
	return nil // absent or damaged: moving it aside is what the user asked for
}

func moveAside(path string, now time.Time) error {
	if there, err := exists(path); err != nil || !there {
		return err
	}
	base := path + ".old-" + now.UTC().Format("20060102-150405")
	for n := 0; ; n++ {
		target := base
		if n > 0 {
			target = fmt.Sprintf("%s-%d", base, n)
		}
		if there, err := exists(target); err != nil {
			return err
		} else if !there {
			return os.Rename(path, target)
		}
	}
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
