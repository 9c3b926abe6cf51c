package tools

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes-batch/tools/sandbox"
)

func TestResolve(t *testing.T) {
	s := newSession(t)
	root := s.box.Root()
	for _, c := range []struct{ cwd, path, want string }{
		{root, "a", root + "/a"},
		{root, "./a/../b/", root + "/b"},
		{root + "/sub", "a", root + "/sub/a"},
		{root + "/sub", "../a", root + "/a"},
		{"", "a", root + "/a"},
		{root, root + "/x/../y", root + "/y"},
		{root, "/etc/../etc/passwd", "/etc/passwd"},
		{root, "../../..", filepath.Dir(filepath.Dir(filepath.Dir(root)))},
		{"/somewhere/else", "a", "/somewhere/else/a"},
	} {
		call := s.call(`{}`)
		call.Shell.Cwd = c.cwd
		if got := call.resolve(c.path); got != c.want {
			t.Errorf("%s in %s: %s, want %s", c.path, c.cwd, got, c.want)
		}
	}
}

// Whatever a path looks like, no file tool reads or changes what lies outside of the work folder.
func FuzzPaths(f *testing.F) {
	const secret = "sEcReT"
	base := f.TempDir()
	outside := filepath.Join(base, "outside")
	if err := os.MkdirAll(outside, 0o755); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "secret.txt"), []byte(secret+"\n"), 0o644); err != nil {
		f.Fatal(err)
	}
	box, err := sandbox.OpenLocal(sandbox.LocalOptions{Base: filepath.Join(base, "box")})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := box.Close(context.Background(), true); err != nil {
			f.Error(err)
		}
	})
	root := box.Root()
	for name, target := range map[string]string{
		"out": outside, "up": "..", "file": filepath.Join(outside, "secret.txt"), "here": root, "loop": "loop",
		"far": "up/up/outside", "chain": "here/out",
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			f.Fatal(err)
		}
	}
	for _, seed := range [][2]string{
		{"a.txt", ""}, {"../../outside/secret.txt", ""}, {"out/secret.txt", ""}, {"file", ""}, {"up/../outside/secret.txt", ""},
		{"here/../../outside/secret.txt", ""}, {"far/secret.txt", ""}, {"chain/secret.txt", "here"}, {"loop/x", ""},
		{outside + "/secret.txt", ""}, {root + "/../../outside/secret.txt", ""}, {"secret.txt", "out"}, {"secret.txt", outside},
		{"~/x", ""}, {"", ""}, {".", ""}, {"/", ""}, {"a\x00b", ""}, {strings.Repeat("../", 50) + strings.TrimPrefix(outside, "/"), ""},
		{"...", ".."}, {"a//b/./c", "/"}, {"out", ""}, {strings.Repeat("x", 300), ""},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, path, cwd string) {
		if cwd != "" && !filepath.IsAbs(cwd) {
			cwd = filepath.Join(root, cwd)
		}
		path = strings.ToValidUTF8(path, "\uFFFD") // as JSON would have it
		c := &Call{Key: "1", Sandbox: box, Shell: sandbox.Shell{Cwd: cwd}}
		call := func(tool Tool, args map[string]string) Result {
			t.Helper()
			c.Args = json.RawMessage(encode(args))
			r, err := Run(context.Background(), tool, c)
			if err != nil {
				t.Fatalf("%s %v: %v", tool.Spec().Name, args, err)
			}
			checkResult(t, r)
			if strings.Contains(r.Text, secret) {
				t.Fatalf("%s %v shows %s", tool.Spec().Name, args, r.Text)
			}
			return r
		}
		call(readFile{}, map[string]string{"path": path})
		call(searchFiles{}, map[string]string{"path": path, "pattern": "EcR"})
		call(searchFiles{}, map[string]string{"path": path, "pattern": "secret*", "target": "files"})
		call(patch{}, map[string]string{"path": path, "old_string": secret, "new_string": "changed"})
		call(patch{}, map[string]string{"mode": "patch", "patch": "*** Begin Patch\n*** Delete File: " + path + "\n*** End Patch"})
		if r := call(writeFile{}, map[string]string{"path": path, "content": "changed"}); r.Success {
			if err := box.Files().Remove(c.resolve(path)); err != nil {
				t.Fatal(err)
			}
		}
		left, err := os.ReadDir(outside)
		data, err2 := os.ReadFile(filepath.Join(outside, "secret.txt"))
		if err != nil || err2 != nil || len(left) != 1 || string(data) != secret+"\n" {
			t.Fatalf("%q in %q changed what lies outside: %v %v %v %q", path, cwd, left, err, err2, data)
		}
	})
}
