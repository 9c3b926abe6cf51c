package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The program's own environment lies below /proc, which a row's cwd may name.
func TestKernelFilesAreRefused(t *testing.T) {
	l := open(t, LocalOptions{Cwd: "/proc"})
	for _, name := range []string{"self/environ", "self/mem", "/proc/self/maps", "uptime"} {
		if b, err := l.Files().ReadFile(name, 1<<20); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		if f, err := l.Files().Open(name); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: opened, %v", name, err)
			f.Close()
		}
	}
}

// The short way opens what it is asked for and nothing that it would have to
// follow or wait for. A kernel that lacks it makes the test pointless.
func TestBeneath(t *testing.T) {
	if fd, err := unix.Openat2(unix.AT_FDCWD, ".", &unix.OpenHow{Flags: unix.O_PATH}); errors.Is(err, unix.ENOSYS) {
		t.Skip("no openat2 here")
	} else {
		_ = unix.Close(fd)
	}
	row := t.TempDir()
	link := filepath.Join(t.TempDir(), "row")
	if err := os.Symlink(row, link); err != nil {
		t.Fatal(err)
	}
	for _, cwd := range []string{"", row, link} {
		l := open(t, LocalOptions{Cwd: cwd})
		mustRun(t, l, "0", `mkdir -p a/b; echo x > a/b/file; ln -s file a/b/link; ln -s b a/c; mkfifo a/pipe; ln -s /etc out`)
		f := localFiles{l}
		for name, mode := range map[string]uint32{"a/b/file": unix.S_IFREG, filepath.Join(l.Root(), "a/b/file"): unix.S_IFREG, "a/b": unix.S_IFDIR, ".": unix.S_IFDIR} {
			file := f.beneath(name, mode, os.O_RDONLY)
			if file == nil {
				t.Errorf("cwd %q: %s was not opened", cwd, name)
				continue
			}
			if st, err := file.Stat(); err != nil || st.IsDir() != (mode == unix.S_IFDIR) {
				t.Errorf("cwd %q: %s: %v, %v", cwd, name, st, err)
			}
			file.Close()
		}
		for _, name := range []string{"a/b/link", "a/c/file", "a/pipe", "a/b", "gone", "out/passwd", "/etc/passwd", "../boot", ""} {
			if file := f.beneath(name, unix.S_IFREG, os.O_RDONLY); file != nil {
				t.Errorf("cwd %q: %s was opened", cwd, name)
				file.Close()
			}
		}
	}
}

// A command swaps a folder for a link to the outside, over and over, while
// tools use names below it. Nothing outside is read or written.
func TestFilesAgainstSwappedLinks(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "file"), "outside", 0o600)
	l := open(t, LocalOptions{})
	dir := filepath.Join(l.Root(), "dir")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(l.Root(), "link")); err != nil {
		t.Fatal(err)
	}
	stop, swapped := make(chan bool), make(chan bool)
	go func() {
		defer close(swapped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(dir, dir+"-real")
			_ = os.Rename(filepath.Join(l.Root(), "link"), dir)
			_ = os.Rename(dir, filepath.Join(l.Root(), "link"))
			_ = os.Rename(dir+"-real", dir)
		}
	}()
	f := l.Files()
	through := 0
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		if _, err := f.WriteFile("dir/file", []byte("inside")); err == nil {
			through++
		}
		if b, err := f.ReadFile("dir/file", 100); err == nil && string(b) != "inside" {
			t.Fatalf("read %q", b)
		}
		_ = f.Rename("dir/file", "dir/other")
		_ = f.Remove("dir/other")
	}
	close(stop)
	<-swapped
	if got := content(t, outside, "file"); got != "outside" || through == 0 {
		t.Errorf("outside holds %q, %d writes went through", got, through)
	}
	if list, err := os.ReadDir(outside); err != nil || len(list) != 1 {
		t.Errorf("outside: %v, %v", list, err)
	}
}

// Half a file is never seen, and no temporary one is left.
func TestWriteFileIsAtomic(t *testing.T) {
	l := open(t, LocalOptions{})
	f := l.Files()
	texts := []string{strings.Repeat("a", 200_000), strings.Repeat("b", 100_000)}
	if _, err := f.WriteFile("file", []byte(texts[0])); err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	go func() {
		defer close(done)
		for i := range 50 {
			if _, err := f.WriteFile("file", []byte(texts[i%2])); err != nil {
				t.Error(err)
			}
		}
	}()
	for {
		b, err := f.ReadFile("file", 1<<20)
		if err != nil || string(b) != texts[0] && string(b) != texts[1] {
			t.Fatalf("read %d bytes, %v", len(b), err)
		}
		select {
		case <-done:
			if list, err := f.ReadDir("."); err != nil || len(list) != 1 {
				t.Errorf("left: %v, %v", list, err)
			}
			return
		default:
		}
	}
}

func TestWriteFileModes(t *testing.T) {
	l := open(t, LocalOptions{})
	f := l.Files()
	mustRun(t, l, "0", "umask; for m in 600 444 755 4711; do : >f$m; chmod $m f$m; done; ln f600 hard")
	for _, name := range []string{"f600", "f444", "f755", "f4711"} {
		before, err := os.Stat(filepath.Join(l.Root(), name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteFile(name, []byte("x")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.Stat(filepath.Join(l.Root(), name)); err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s: mode %v, was %v", name, after.Mode(), before.Mode())
		}
	}
}
