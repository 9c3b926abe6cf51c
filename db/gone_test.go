package db

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A store whose file is removed or replaced fails at the next commit: nothing
// is reported done that is in no file.
func TestStoreFileGoesAway(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"removed":  os.Remove,
		"renamed":  func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error { return os.Rename(path+".copy", path) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "run.db")
			s, err := Create(path, Run{Name: "r"}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := os.WriteFile(path+".copy", []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := harm(path); err != nil {
				t.Fatal(err)
			}
			if _, err := s.PutBlob([]byte("b")); !errors.Is(err, ErrGone) || !errors.Is(err, ErrFailed) {
				t.Errorf("commit: %v", err)
			}
			select {
			case <-s.Failed():
			default:
				t.Error("the store has not failed")
			}
		})
	}
}

// A lock file that is something else holds nobody up, and is not followed.
func TestLockFileIsSomethingElse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.db")
	s, err := Create(path, Run{Name: "r"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	lock := filepath.Join(dir, "run.lock")
	for name, make := range map[string]func() error{
		"fifo": func() error { return syscall.Mkfifo(lock, 0o600) },
		"link": func() error { return os.Symlink("/dev/zero", lock) },
		"huge": func() error { return os.WriteFile(lock, nil, 0o600) },
	} {
		os.Remove(lock)
		if err := make(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := Open(path, Options{ReadOnly: true, LockTimeout: 50 * time.Millisecond}); !errors.Is(err, ErrLocked) {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
	victim := filepath.Join(dir, "victim")
	if err := errors.Join(os.WriteFile(victim, []byte("precious"), 0o600), os.Remove(lock), os.Symlink(victim, lock+".tmp")); err != nil {
		t.Fatal(err)
	}
	if err := s.AnnounceSocket("/s"); err != nil {
		t.Fatal(err)
	}
	if raw, _ := os.ReadFile(victim); string(raw) != "precious" {
		t.Errorf("the link was followed: %q", raw)
	}
}
