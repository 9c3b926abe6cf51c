package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCwd(t *testing.T) {
	outer := t.TempDir()
	outer, err := filepath.EvalSymlinks(outer)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(outer, "file"), "", 0o600)
	if err := os.Mkdir(filepath.Join(outer, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("dir", filepath.Join(outer, "link")); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(outer, "box")
	for _, test := range []struct {
		cwd, root string
		shared    bool
	}{
		{"", base + "/work", false},
		{".", base + "/work", false},
		{"a/b", base + "/work/a/b", false},
		{"a/../b c", base + "/work/b c", false},
		{"żółć", base + "/work/żółć", false},
		{outer + "/dir", outer + "/dir", true},
		{outer + "/dir/", outer + "/dir", true},
		{outer + "/link", outer + "/link", true},
	} {
		t.Run(test.cwd, func(t *testing.T) {
			l := open(t, LocalOptions{Base: base, Cwd: test.cwd})
			if l.Root() != test.root || l.SharedCwd() != test.shared || l.Isolation() != "none" || l.Boot() != bootID() {
				t.Errorf("Root %q, SharedCwd %v, Isolation %q, Boot %q", l.Root(), l.SharedCwd(), l.Isolation(), l.Boot())
			}
			if r := mustRun(t, l, "0", "pwd; pwd -P >where; echo $HOME"); string(r.Output) != test.root+"\n"+base+"/work\n" {
				t.Errorf("the shell starts in %q", r.Output)
			}
			// By every name that a command may have for it.
			where := strings.TrimSpace(content(t, test.root, "where"))
			for _, name := range []string{"where", test.root + "/where", where + "/where"} {
				if b, err := l.Files().ReadFile(name, 1000); err != nil || string(b) != where+"\n" {
					t.Errorf("ReadFile(%q) = %q, %v", name, b, err)
				}
			}
			if _, err := l.Files().WriteFile(base+"/work/of-the-sandbox", nil); err != nil {
				t.Errorf("WriteFile in the work folder: %v", err)
			}
			if _, err := l.Files().Stat(outer + "/file"); !errors.Is(err, ErrOutside) {
				t.Errorf("Stat beside the folders = %v, want ErrOutside", err)
			}
		})
	}
	if !there(outer, "dir", "where")() {
		t.Error("a shared folder was removed with the sandbox")
	}
	for _, cwd := range []string{"..", "../x", "a/../../x", "nul\x00", strings.Repeat("n", 300), outer + "/no", outer + "/file", "/etc/passwd"} {
		if _, err := OpenLocal(LocalOptions{Base: base, Cwd: cwd}); !errors.Is(err, ErrCwd) {
			t.Errorf("cwd %q: %v, want ErrCwd", cwd, err)
		}
		if there(base)() {
			t.Fatalf("cwd %q: the sandbox was created all the same", cwd)
		}
	}
}

func TestReopen(t *testing.T) {
	base := filepath.Join(t.TempDir(), "box")
	l, err := OpenLocal(LocalOptions{Base: base, Cwd: "sub"})
	if err != nil {
		t.Fatal(err)
	}
	nonce := l.Nonce()
	r := mustRun(t, l, "0", "echo kept >file; echo out")
	if err := l.Close(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	again := open(t, LocalOptions{Base: base, Cwd: "sub", Nonce: nonce})
	if again.Nonce() != nonce || again.Root() != l.Root() || again.Boot() != l.Boot() {
		t.Errorf("opened again: %q, %q, %q", again.Nonce(), again.Root(), again.Boot())
	}
	if b, err := again.Files().ReadFile("file", 100); string(b) != "kept\n" || err != nil {
		t.Errorf("file holds %q, %v", b, err)
	}
	if got, state, err := again.Recall(t.Context(), "0"); state != CallDone || string(got.Output) != string(r.Output) || err != nil {
		t.Errorf("Recall = %+v, %v, %v", got, state, err)
	}
	if r := mustRun(t, again, "1", "cat file"); string(r.Output) != "kept\n" {
		t.Errorf("output %q", r.Output)
	}
}

// What commands did to their own work folder makes no difference between a
// session that was interrupted and one that was not.
func TestWorkFolderRemovedByItsCommands(t *testing.T) {
	base := filepath.Join(t.TempDir(), "box")
	results := map[bool][]string{}
	for _, interrupted := range []bool{false, true} {
		l := open(t, LocalOptions{Base: base})
		results[interrupted] = append(results[interrupted], string(mustRun(t, l, "0", "cd ..; rm -rf work; echo gone").Output))
		if interrupted {
			if err := l.Close(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			l = open(t, LocalOptions{Base: base, Nonce: l.Nonce()})
		}
		for _, key := range []string{"1", "2"} {
			r := mustRun(t, l, key, "ls; echo here")
			results[interrupted] = append(results[interrupted], string(r.Output))
		}
		if err := l.Close(t.Context(), true); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(results[false], results[true]) {
		t.Errorf("uninterrupted %q, interrupted %q", results[false], results[true])
	}
}

func TestLost(t *testing.T) {
	for name, damage := range map[string]func(base string) error{
		"no folder":   os.RemoveAll,
		"no nonce":    func(base string) error { return os.Remove(filepath.Join(base, nonceFile)) },
		"empty nonce": func(base string) error { return os.Truncate(filepath.Join(base, nonceFile), 0) },
		"a link for a work folder": func(base string) error {
			work := filepath.Join(base, workFolder)
			return errors.Join(os.Remove(work), os.Symlink(os.TempDir(), work))
		},
		"another nonce": func(base string) error {
			return os.WriteFile(filepath.Join(base, nonceFile), []byte("OTHER\nboot\n"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			base := filepath.Join(t.TempDir(), "box")
			l, err := OpenLocal(LocalOptions{Base: base})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(l.Close(t.Context(), false), damage(base)); err != nil {
				t.Fatal(err)
			}
			if _, err := OpenLocal(LocalOptions{Base: base, Nonce: l.Nonce()}); !errors.Is(err, ErrLost) {
				t.Errorf("OpenLocal = %v, want ErrLost", err)
			}
		})
	}
	// In the middle of a session.
	l := open(t, LocalOptions{})
	if err := os.RemoveAll(l.base); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Exec(t.Context(), Command{Key: "0", Script: "true"}); !errors.Is(err, ErrLost) {
		t.Errorf("Exec = %v, want ErrLost", err)
	}
	if err := l.Begin("0"); !errors.Is(err, ErrLost) {
		t.Errorf("Begin = %v, want ErrLost", err)
	}
}

// A program that dies before it has recorded its sandbox leaves one behind,
// which the next one replaces together with what runs in it.
func TestCreateOverLeftover(t *testing.T) {
	base := filepath.Join(t.TempDir(), "box")
	_, kill := startProgram(t, base, "sleep 300 & echo $! >pid; touch ready; sleep 300")
	until(t, "the command runs", there(base, "work", "ready"))
	kill()
	pid := strings.TrimSpace(content(t, base, "work", "pid"))
	l := open(t, LocalOptions{Base: base})
	if p, err := readProcess(pid); err == nil && !p.zombie {
		t.Error("a process of the old sandbox runs on")
	}
	if list, err := l.Files().ReadDir("."); err != nil || len(list) != 0 {
		t.Errorf("the new sandbox holds %v, %v", list, err)
	}
	if _, state, _ := l.Recall(t.Context(), "0"); state != CallNever {
		t.Errorf("Recall of the old sandbox's call = %v", state)
	}
}

func TestCreateOverForeignFolder(t *testing.T) {
	base := t.TempDir()
	write(t, filepath.Join(base, "thesis.txt"), "mine", 0o600)
	if _, err := OpenLocal(LocalOptions{Base: base}); !errors.Is(err, errForeign) {
		t.Errorf("OpenLocal = %v", err)
	}
	if got := content(t, base, "thesis.txt"); got != "mine" {
		t.Errorf("the file holds %q", got)
	}
}

// The state of a session whose own folder was removed by a command.
func TestWorkFolderRemoved(t *testing.T) {
	l := open(t, LocalOptions{Cwd: "sub"})
	r := mustRun(t, l, "0", `rm -rf "$HOME"; echo removed`)
	if string(r.Output) != "removed\n" {
		t.Errorf("output %q", r.Output)
	}
	if r = mustRun(t, l, "1", "echo ran"); r.ExitCode != 126 {
		t.Errorf("%+v", r)
	}
	if r = mustRun(t, l, "2", "pwd"); string(r.Output) != l.Root()+"\n" {
		t.Errorf("output %q", r.Output)
	}
	if _, err := l.Files().WriteFile("file", nil); err != nil {
		t.Errorf("WriteFile: %v", err)
	}
}

// The work folder is replaced by a link to another place.
func TestWorkFolderSwapped(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "secret"), "secret", 0o600)
	l := open(t, LocalOptions{})
	mustRun(t, l, "0", "cd ..; mv work other; ln -s "+outside+" work")
	if b, err := l.Files().ReadFile("secret", 100); err == nil {
		t.Errorf("read %q through the link", b)
	}
	if _, err := l.Files().WriteFile("new", nil); err == nil || there(outside, "new")() {
		t.Errorf("WriteFile through the link: %v", err)
	}
	if err := l.Close(t.Context(), true); err == nil {
		if got := content(t, outside, "secret"); got != "secret" {
			t.Errorf("outside holds %q", got)
		}
	} else {
		t.Error(err)
	}
}
