package sandbox

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// beneath opens a file or folder in one step, in which the kernel refuses every
// symbolic link. It returns nil where that fails: the long way by at finds out
// why, and follows links. A search opens tens of thousands of files, and the
// long way takes some four system calls for each pair of folders above one.
//
// mode is the kind that is asked for, such as unix.S_IFREG. It is looked at
// before, since opening a device may do something.
func (f localFiles) beneath(name string, mode uint32, flags int) *os.File {
	if f.l.enter() != nil {
		return nil
	}
	defer f.l.leave()
	dir, rel, ok := f.l.within(name)
	if !ok {
		return nil
	}
	if dir == f.l.work() { // which may have been replaced by a symbolic link
		dir, rel = f.l.base, filepath.Join(workFolder, rel)
	}
	root, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(root)
	var st unix.Stat_t
	if err := unix.Fstatat(root, rel, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil || st.Mode&unix.S_IFMT != mode {
		return nil
	}
	fd, err := unix.Openat2(root, rel, &unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), name)
}
