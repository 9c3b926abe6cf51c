package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hermes-batch/testdata/machine"
)

// A full disk costs the file, not the result, and the room comes back.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		machine.Lacks(t, "file systems cannot be mounted here: "+err.Error())
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	l := open(t, LocalOptions{Base: filepath.Join(dir, "box")})
	r := mustRun(t, l, "0", "yes | head -c 4000000; echo END; exit 3")
	if r.ExitCode != 3 || !strings.HasSuffix(string(r.Output), "\nEND\n") {
		t.Errorf("result %+v", r)
	}
	if f := r.Full; f == nil || f.File != "" || f.Problem != "no space left on device" || f.Lost != 4_000_004 {
		t.Errorf("full output: %+v", r.Full)
	}
	if got, state, err := l.Recall(t.Context(), "0"); state != CallDone || !bytes.Equal(got.Output, r.Output) || err != nil {
		t.Errorf("Recall = %v, %v", state, err)
	}
	if there(l.work(), ResultsFolder, "0.txt")() {
		t.Error("half a file is left")
	}
	if full, err := l.Keep("1", make([]byte, 4_000_000)); err != nil || full.File != "" || full.Problem != "no space left on device" {
		t.Errorf("Keep = %+v, %v", full, err)
	}
	if r := mustRun(t, l, "2", "yes | head -c 500000"); r.Full == nil || r.Full.Size != 500_000 {
		t.Errorf("with room: %+v", r.Full)
	}
}

// A folder that is shared with others stays as it is; the file lies in the
// sandbox's own, and Files reads it there.
func TestFullOfSharedFolder(t *testing.T) {
	shared := t.TempDir()
	l := open(t, LocalOptions{Cwd: shared})
	r := mustRun(t, l, "0", "seq 100000")
	if r.Full == nil || !strings.HasPrefix(r.Full.File, l.work()+"/") {
		t.Fatalf("full output: %+v", r.Full)
	}
	if b, err := l.Files().ReadFile(r.Full.File, MaxFull); err != nil || int64(len(b)) != r.Full.Size || !bytes.HasSuffix(b, []byte("\n100000\n")) {
		t.Errorf("ReadFile: %d bytes, %v", len(b), err)
	}
	if list, err := os.ReadDir(shared); err != nil || len(list) > 0 {
		t.Errorf("the shared folder holds %v, %v", list, err)
	}
}

// The program dies in the middle of a long output: the file is whole all the same.
func TestFullAfterKill(t *testing.T) {
	base := filepath.Join(t.TempDir(), "box")
	nonce, kill := startProgram(t, base, "seq 100000; touch ready; until [ -e go ]; do sleep 0.01; done; seq 100000")
	until(t, "the command runs", there(base, "work", "ready"))
	kill()
	write(t, filepath.Join(base, "work", "go"), "", 0o600)
	l := open(t, LocalOptions{Base: base, Nonce: nonce})
	r, state, err := l.Recall(t.Context(), "0")
	if err != nil || state != CallDone || r.Full == nil {
		t.Fatalf("Recall = %+v, %v, %v", r, state, err)
	}
	b, err := l.Files().ReadFile(r.Full.File, MaxFull)
	if err != nil || int64(len(b)) != r.Full.Size || bytes.Count(b, []byte("\n100000\n")) != 2 {
		t.Errorf("%+v: %d bytes, %v", r.Full, len(b), err)
	}
}

// A work folder that a command has replaced by a link is not gone through.
func TestFullBehindLink(t *testing.T) {
	outer := t.TempDir()
	l := open(t, LocalOptions{})
	r := mustRun(t, l, "0", "cd ..; rm -rf work; ln -s "+quote(outer)+" work; seq 100000; rm work; mkdir work")
	if r.Full == nil || r.Full.File != "" || r.Full.Problem == "" || !strings.HasSuffix(string(r.Output), "\n100000\n") {
		t.Errorf("%+v", r.Full)
	}
	if list, err := os.ReadDir(outer); err != nil || len(list) > 0 {
		t.Errorf("outside lies %v, %v", list, err)
	}
}
