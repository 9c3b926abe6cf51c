package ctl

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"hermes-batch/testdata/machine"
)

// asUser runs fn on a thread that acts as that user. The thread ends with fn.
func asUser(uid uintptr, fn func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		keep := ^uintptr(0)
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, keep, uid, keep); errno != 0 {
			result <- errno
			return
		}
		result <- fn()
	}()
	return <-result
}

func TestForeignPeer(t *testing.T) {
	if os.Geteuid() != 0 {
		machine.Lacks(t, "acting as another user takes root")
	}
	const nobody = 65534
	_, socket := start(t, defaultLimits, map[string]Verb{"echo": echo})
	ask := func() error { return Call(context.Background(), socket, "echo", nil, io.Discard) }

	if err := asUser(nobody, ask); !errors.Is(err, ErrRefused) {
		t.Errorf("by the modes: %v", err)
	}
	base := filepath.Dir(filepath.Dir(socket))
	for _, path := range []string{base, filepath.Dir(socket), socket} {
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := asUser(nobody, ask); !errors.Is(err, ErrRefused) {
		t.Errorf("by who it is: %v", err)
	}
	if err := ask(); err != nil {
		t.Errorf("the run's own user: %v", err)
	}
}
