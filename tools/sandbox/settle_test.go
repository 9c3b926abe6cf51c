package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What lies in a sandbox when the machine is started anew may be anything,
// unless it was synced before.
func TestRestartOfTheMachine(t *testing.T) {
	for _, test := range []struct {
		name   string
		before func(t *testing.T, folder string) // the restart, of which box is one of an earlier start
		lost   bool
	}{
		{"nothing was synced", func(*testing.T, string) {}, true},
		{"settled", func(t *testing.T, folder string) { settled(t, folder, "another-boot") }, false},
		{"settled before an earlier restart", func(t *testing.T, folder string) { settled(t, folder, "a-later-boot") }, true},
		{"the note is torn", func(t *testing.T, folder string) { settled(t, folder, "another-bo") }, true},
		{"settled while a command ran", func(t *testing.T, folder string) {
			f, err := call{filepath.Join(folder, "box", callsFolder, "1")}.open()
			if err != nil {
				t.Fatal(err)
			}
			settled(t, folder, "another-boot")
			f.Close()
		}, true},
		{"settled and used again", func(t *testing.T, folder string) {
			settled(t, folder, "another-boot")
			if err := Adopt(folder); err != nil {
				t.Fatal(err)
			}
			reboot(t, filepath.Join(folder, "box"))
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			base := filepath.Join(folder, "box")
			first := open(t, LocalOptions{Base: base})
			mustRun(t, first, "0", "echo kept >file")
			if err := first.Close(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			reboot(t, base)
			test.before(t, folder)
			if err := Adopt(folder); err != nil {
				t.Fatal(err)
			}
			l, err := OpenLocal(LocalOptions{Base: base, Nonce: first.Nonce()})
			if lost := errors.Is(err, ErrLost); lost != test.lost || err != nil && !lost {
				t.Fatalf("OpenLocal = %v; want lost: %v", err, test.lost)
			}
			if _, err := os.Stat(filepath.Join(folder, settledFile)); err == nil {
				t.Error("the sandbox still counts as settled while it is used")
			}
			if err != nil {
				return
			}
			if r := mustRun(t, l, "1", "cat file"); string(r.Output) != "kept\n" || l.Boot() != bootID() {
				t.Errorf("output %q, boot %q", r.Output, l.Boot())
			}
			if err := l.Close(t.Context(), true); err != nil {
				t.Error(err)
			}
		})
	}
}

// settled is Settle at the end of another start of the machine.
func settled(t *testing.T, folder, boot string) {
	t.Helper()
	if err := Settle(folder); err != nil {
		t.Fatal(err)
	}
	note := content(t, folder, settledFile)
	used, ok := strings.CutSuffix(note, bootID()+"\n")
	if !ok {
		t.Errorf("the note says %q", note)
	}
	write(t, filepath.Join(folder, settledFile), used+boot+"\n", 0o600)
}

func TestSettleNothing(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	if err := Adopt(none); err != nil {
		t.Error(err)
	}
	if err := Settle(none); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
