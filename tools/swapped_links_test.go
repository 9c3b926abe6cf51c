package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hermes-batch/tools/sandbox"
)

// A command swaps a folder for a link to the outside, and a file for another,
// as fast as it can while file tools use names through both. Nothing outside is
// read or changed, whether the work folder is the session's own or shared.
func TestFileToolsAgainstSwappedLinks(t *testing.T) {
	const secret, rounds = "sEcReT", 150
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprintf("shared %t", shared), func(t *testing.T) {
			base := t.TempDir()
			outside := filepath.Join(base, "outside")
			must(t, os.MkdirAll(filepath.Join(outside, "sub"), 0o755))
			must(t, os.WriteFile(filepath.Join(outside, "file"), []byte(secret+"\n"), 0o644))
			must(t, os.WriteFile(filepath.Join(outside, ".gitignore"), []byte("mine\n"), 0o644))
			options := sandbox.LocalOptions{Base: filepath.Join(base, "box")}
			if shared {
				options.Cwd = filepath.Join(base, "shared")
				must(t, os.Mkdir(options.Cwd, 0o755))
			}
			box, err := sandbox.OpenLocal(options)
			must(t, err)
			t.Cleanup(func() { must(t, box.Close(context.Background(), true)) })
			in := func(name string) string { return filepath.Join(box.Root(), name) }
			must(t, os.Mkdir(in("dir"), 0o755))
			must(t, os.Symlink(outside, in("dir-link")))
			must(t, os.WriteFile(in("name"), []byte("inside\n"), 0o644))
			must(t, os.Symlink(filepath.Join(outside, "file"), in("name-link")))

			stop := swap(t, in("dir"), in("dir-link"), in("name"), in("name-link"))
			done := map[string]int{}
			for range rounds {
				for _, call := range []struct {
					tool Tool
					args map[string]any
				}{
					{writeFile{}, map[string]any{"path": "dir/file", "content": "inside\n"}},
					{writeFile{}, map[string]any{"path": "dir/sub/new/file", "content": "inside\n"}},
					{writeFile{}, map[string]any{"path": "name", "content": "inside\n"}},
					{readFile{}, map[string]any{"path": "dir/file"}},
					{readFile{}, map[string]any{"path": "name"}},
					{patch{}, map[string]any{"path": "dir/file", "old_string": secret, "new_string": "changed"}},
					{patch{}, map[string]any{"path": "dir/file", "old_string": "in", "new_string": "IN"}},
					{patch{}, map[string]any{"mode": "patch", "patch": "*** Begin Patch\n*** Add File: dir/mine\n+x\n*** Update File: name\n-inside\n+INSIDE\n*** End Patch"}},
					{patch{}, map[string]any{"mode": "patch", "patch": "*** Begin Patch\n*** Delete File: dir/file\n*** Delete File: dir/mine\n*** End Patch"}},
					{searchFiles{}, map[string]any{"path": ".", "pattern": "EcR"}},
					{searchFiles{}, map[string]any{"path": "dir", "pattern": "*", "target": "files"}},
				} {
					c := &Call{Key: "1", Args: json.RawMessage(encode(call.args)), Sandbox: box, Shell: sandbox.Shell{Cwd: box.Root()}}
					r, err := Run(context.Background(), call.tool, c)
					if err != nil {
						t.Fatalf("%s %v: %v", call.tool.Spec().Name, call.args, err)
					}
					if strings.Contains(r.Text, secret) && !strings.Contains(fmt.Sprint(call.args), secret) {
						t.Fatalf("%s %v shows %s", call.tool.Spec().Name, call.args, r.Text)
					}
					if r.Success {
						done[call.tool.Spec().Name]++
					}
				}
			}
			if swaps := stop(); swaps < rounds || done["write_file"] == 0 || done["read_file"] == 0 || done["patch"] == 0 || done["search_files"] == 0 {
				t.Errorf("%d swaps, calls that succeeded: %v", swaps, done)
			}
			unchanged(t, outside, map[string]string{"file": secret + "\n", ".gitignore": "mine\n", "sub": ""})
		})
	}
}

// swap exchanges pairs of names over and over until it is stopped, which tells
// how often, and leaves each name what it was.
func swap(t *testing.T, names ...string) (stop func() int) {
	ended, swaps := make(chan bool), make(chan int)
	exchange := func() {
		for i := 0; i < len(names); i += 2 {
			// One of the two may be gone: the tools replace and delete them.
			_ = unix.Renameat2(unix.AT_FDCWD, names[i], unix.AT_FDCWD, names[i+1], unix.RENAME_EXCHANGE)
		}
	}
	go func() {
		n := 0
		for ; ; n++ {
			select {
			case <-ended:
				swaps <- n
				return
			default:
				exchange()
			}
		}
	}()
	return func() int {
		close(ended)
		return <-swaps
	}
}

// unchanged expects a folder to hold these files, "" for a folder, and nothing else.
func unchanged(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		text := ""
		if !e.IsDir() {
			data, err := os.ReadFile(filepath.Join(dir, e.Name()))
			must(t, err)
			text = string(data)
		} else if inner, err := os.ReadDir(filepath.Join(dir, e.Name())); err != nil || len(inner) > 0 {
			t.Errorf("%s holds %v, %v", e.Name(), inner, err)
		}
		if was, known := want[e.Name()]; !known || was != text {
			t.Errorf("%s is %q", e.Name(), text)
		}
	}
	if len(entries) != len(want) {
		t.Errorf("%v are left", entries)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
