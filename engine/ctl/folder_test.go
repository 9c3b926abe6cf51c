package ctl

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stale leaves at path what a listener leaves when it is killed.
func stale(t *testing.T, path string) {
	t.Helper()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	listener.Close()
}

func TestNobodyListens(t *testing.T) {
	dir := privateDir(t)
	left, file := filepath.Join(dir, "left"), filepath.Join(dir, "file")
	stale(t, left)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, socket := range []string{left, file, filepath.Join(dir, "missing"), filepath.Join(file, "below"), ""} {
		if err := Call(context.Background(), socket, "status", nil, io.Discard); !errors.Is(err, ErrNobody) {
			t.Errorf("%q: %v", socket, err)
		}
	}
}

func TestSocketOfAKilledRunIsTakenOver(t *testing.T) {
	base := privateBase(t)
	store := newStore(t, t.TempDir())
	var sockets []string
	for range 2 {
		s, err := Serve(context.Background(), store, map[string]Verb{"echo": echo}, nil)
		if err != nil {
			t.Fatal(err)
		}
		socket := announced(t, store)
		sockets = append(sockets, socket)
		if err := Call(context.Background(), socket, "echo", nil, io.Discard); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if len(sockets) == 1 {
			if err := os.Mkdir(filepath.Dir(socket), 0o700); err != nil {
				t.Fatal(err)
			}
			stale(t, socket)
		}
	}
	if sockets[0] != sockets[1] {
		t.Errorf("the second run listens at %s, the first at %s", sockets[1], sockets[0])
	}
	if left, _ := os.ReadDir(base); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A folder that is not private, or in use, is left alone.
func TestTakenFolder(t *testing.T) {
	tests := []struct {
		name string
		take func(t *testing.T, dir string)
	}{
		{"others can write", func(t *testing.T, dir string) { mkdir(t, dir, 0o777) }},
		{"a file", func(t *testing.T, dir string) {
			if err := os.WriteFile(dir, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"a link", func(t *testing.T, dir string) {
			if err := os.Symlink(t.TempDir(), dir); err != nil {
				t.Fatal(err)
			}
		}},
		{"somebody listens", func(t *testing.T, dir string) {
			mkdir(t, dir, 0o700)
			listener, err := net.Listen("unix", filepath.Join(dir, socketName))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { listener.Close() })
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("XDG_RUNTIME_DIR", privateDir(t))
			usual, err := socketPath("a run")
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Dir(usual)
			if err := os.Remove(dir); err != nil {
				t.Fatal(err)
			}
			tt.take(t, dir)
			other, err := socketPath("a run")
			if err != nil || filepath.Dir(other) == dir {
				t.Fatalf("listens at %s, %v", other, err)
			}
			if info, err := os.Stat(filepath.Dir(other)); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("other folder: %v, %v", info, err)
			}
			if _, err := os.Lstat(dir); err != nil {
				t.Errorf("the taken one: %v", err)
			}
		})
	}
}

func mkdir(t *testing.T, dir string, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.Mkdir(dir, mode), os.Chmod(dir, mode)); err != nil {
		t.Fatal(err)
	}
}

func TestLongPaths(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("a", 120), strings.Repeat("b", 120))
	if err := os.MkdirAll(long, 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, runtime, tmp string }{
		{"the run's", privateDir(t), privateDir(t)},
		{"the user's runtime folder's", long, privateDir(t)},
		{"every folder's", long, long},
		{"a runtime folder that is missing", "/nowhere/at/all", privateDir(t)},
		{"a relative runtime folder", ".", privateDir(t)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("XDG_RUNTIME_DIR", tt.runtime)
			t.Setenv("TMPDIR", tt.tmp)
			dir := filepath.Join(long, filepath.Base(t.Name()))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			store := newStore(t, dir)
			s, err := Serve(context.Background(), store, map[string]Verb{"echo": echo}, nil)
			if err != nil {
				t.Fatal(err)
			}
			socket := announced(t, store)
			if len(socket) > longestPath || !filepath.IsAbs(socket) {
				t.Errorf("socket %s of %d bytes", socket, len(socket))
			}
			if err := Call(context.Background(), socket, "echo", nil, io.Discard); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Dir(socket)); !os.IsNotExist(err) {
				t.Errorf("left behind: %s", socket)
			}
		})
	}
}
