package sandbox

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// localFiles are the files of a local sandbox. Every access goes through an
// os.Root, so that no race with a command leads outside.
type localFiles struct{ l *Local }

// Files implements Sandbox.
func (l *Local) Files() Files { return localFiles{l} }

func (f localFiles) ReadFile(name string, limit int64) ([]byte, error) {
	file, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, max(limit, 0)+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("read %s: more than %d bytes: %w", name, limit, ErrTooLarge)
	}
	return b, nil
}

func (f localFiles) Open(name string) (fs.File, error) {
	file, err := f.open(name)
	if err != nil {
		return nil, err
	}
	return file, nil
}

// open opens a regular file. Looked at before, since opening a device may do
// something, and not waiting, since opening a pipe may never return.
func (f localFiles) open(name string) (*os.File, error) {
	const flags = os.O_RDONLY | unix.O_NONBLOCK
	file := f.beneath(name, unix.S_IFREG, flags)
	if file == nil {
		err := f.at(name, true, func(p place) error {
			st, err := p.root.Stat(p.rel)
			if err != nil {
				return err
			}
			if !st.Mode().IsRegular() {
				return notRegular(name, st)
			}
			file, err = p.root.OpenFile(p.rel, flags, 0)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	st, err := file.Stat()
	if err == nil && (!st.Mode().IsRegular() || kernelFile(file)) {
		err = notRegular(name, st)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// kernelFile tells a file that the kernel makes up, such as the environment or
// the memory of this very program below /proc: reading it may tell secrets, or
// fail like a broken disk. What cannot be looked at counts as one.
func kernelFile(f *os.File) bool {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
		return true
	}
	switch int64(st.Type) {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC:
		return true
	}
	return false
}

func notRegular(name string, st fs.FileInfo) error {
	if st.IsDir() {
		return fmt.Errorf("%s is a folder: %w", name, ErrNotRegular)
	}
	return fmt.Errorf("%s: %w", name, ErrNotRegular)
}

func (f localFiles) WriteFile(name string, data []byte) (made bool, err error) {
	err = f.at(name, true, func(p place) error {
		st, err := p.root.Stat(p.rel)
		switch {
		case err == nil && !st.Mode().IsRegular():
			return notRegular(name, st)
		case errors.Is(err, fs.ErrNotExist):
			st = nil
			if made, err = p.makeParents(); err != nil {
				return err
			}
		case err != nil:
			return err
		}
		return p.replace(data, st)
	})
	return made, err
}

// makeParents makes the folders that the place lacks.
func (p place) makeParents() (made bool, err error) {
	dir := filepath.Dir(p.rel)
	_, err = p.root.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, p.root.MkdirAll(dir, 0o755)
	}
	return false, err
}

// replace writes a file beside the old one and puts it in its place. old is
// nil if there is none; otherwise its mode is kept, and its owner where allowed.
func (p place) replace(data []byte, old fs.FileInfo) error {
	tmp := filepath.Join(filepath.Dir(p.rel), ".hermes-"+rand.Text())
	file, err := p.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil && old != nil {
		if st, ok := old.Sys().(*syscall.Stat_t); ok {
			_ = file.Chown(int(st.Uid), int(st.Gid))
		}
		err = file.Chmod(old.Mode())
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = p.root.Rename(tmp, p.rel)
	}
	if err != nil {
		_ = p.root.Remove(tmp)
	}
	return err
}

func (f localFiles) Stat(name string) (st fs.FileInfo, err error) {
	err = f.at(name, true, func(p place) error {
		st, err = p.root.Stat(p.rel)
		return err
	})
	return st, err
}

func (f localFiles) ReadDir(name string) (list []fs.DirEntry, err error) {
	if dir := f.beneath(name, unix.S_IFDIR, os.O_RDONLY|unix.O_DIRECTORY); dir != nil {
		return sortedEntries(dir)
	}
	err = f.at(name, true, func(p place) error {
		st, err := p.root.Stat(p.rel)
		if err != nil {
			return err
		}
		if !st.IsDir() {
			return &fs.PathError{Op: "read folder", Path: name, Err: unix.ENOTDIR}
		}
		dir, err := p.root.Open(p.rel)
		if err != nil {
			return err
		}
		list, err = sortedEntries(dir)
		return err
	})
	return list, err
}

func sortedEntries(dir *os.File) ([]fs.DirEntry, error) {
	defer dir.Close()
	list, err := dir.ReadDir(-1)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return list, err
}

func (f localFiles) Remove(name string) error {
	return f.at(name, false, func(p place) error { return p.root.Remove(p.rel) })
}

func (f localFiles) Rename(from, to string) error {
	return f.at(from, false, func(a place) error {
		return f.at(to, false, func(b place) error {
			if a.root.Name() != b.root.Name() {
				return &os.LinkError{Op: "rename", Old: from, New: to, Err: unix.EXDEV}
			}
			return a.root.Rename(a.rel, b.rel)
		})
	})
}

// A place is where a name leads: a root, and a name in it without symbolic
// links but perhaps the last element.
type place struct {
	root *os.Root
	rel  string
}

// at finds the place of a name and does something there.
func (f localFiles) at(name string, follow bool, do func(place) error) error {
	if err := f.l.enter(); err != nil {
		return err
	}
	defer f.l.leave()
	if name == "" {
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	path := f.l.absolute(name)
	for hops := 0; ; hops++ {
		root, rel, err := f.l.openRoot(path)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		next, err := followLink(root, rel, follow)
		if err != nil || next == "" {
			if err == nil {
				err = do(place{root, rel})
			}
			root.Close()
			return err
		}
		root.Close()
		if hops == maxHops {
			return &fs.PathError{Op: "open", Path: name, Err: unix.ELOOP}
		}
		path = next
	}
}

const maxHops = 40 // symbolic links in one name

// followLink looks for the first symbolic link in rel and returns the name
// that results from following it; "" if there is none. os.Root would refuse an
// absolute link even if it points inside.
func followLink(root *os.Root, rel string, last bool) (string, error) {
	elements := strings.Split(rel, "/")
	for i := range elements {
		if i == len(elements)-1 && !last {
			break
		}
		prefix := filepath.Join(elements[:i+1]...)
		st, err := root.Lstat(prefix)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		if st.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		target, err := root.Readlink(prefix)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(root.Name(), filepath.Dir(prefix), target)
		}
		return filepath.Join(append([]string{target}, elements[i+1:]...)...), nil
	}
	return "", nil
}

// openRoot opens the root that holds an absolute name.
func (l *Local) openRoot(path string) (*os.Root, string, error) {
	dir, rel, ok := l.within(path)
	if !ok {
		return nil, "", ErrOutside
	}
	root, err := l.openFolder(dir)
	return root, rel, err
}

// within finds the root that holds a name, and the name below it.
func (l *Local) within(name string) (dir, rel string, ok bool) {
	path := l.absolute(name)
	for dir := range l.roots {
		rel, err := filepath.Rel(dir, path)
		if err == nil && filepath.IsLocal(rel) {
			return dir, rel, true
		}
	}
	return "", "", false
}

func (l *Local) absolute(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(l.root, name)
}

// openFolder opens a root. The work folder itself may have been replaced by a
// symbolic link; the sandbox's own folder is out of the commands' way.
func (l *Local) openFolder(dir string) (*os.Root, error) {
	if dir != l.work() {
		return os.OpenRoot(dir)
	}
	base, err := os.OpenRoot(l.base)
	if err != nil {
		return nil, err
	}
	defer base.Close()
	return base.OpenRoot(workFolder)
}

// roots are the folders that the file tools may use: the work folder, and the
// row's own folder under the names by which commands see it.
func (l *Local) roots(yield func(string) bool) {
	if !yield(l.work()) || !l.SharedCwd() || !yield(l.root) {
		return
	}
	if real, err := filepath.EvalSymlinks(l.root); err == nil && real != l.root {
		yield(real)
	}
}
