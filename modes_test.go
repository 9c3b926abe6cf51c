package main

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hermes-batch/engine/simulated"
)

// TestModes looks at all files of a run that is going on, and of one that has
// ended, under umasks that hide nothing and all. Nobody else can write to any of
// them, and nobody else gets into the folders of the sandboxes and the socket.
func TestModes(t *testing.T) {
	for _, umask := range []string{"0", "022", "077"} {
		t.Run(umask, func(t *testing.T) {
			model, err := simulated.New(simulated.Options{})
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			looked := make(chan bool)
			second := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if second++; second == 2 { // its first call has a result
					checkModes(t, dir, umask, true)
					close(looked)
				}
				model.ServeHTTP(w, r)
			}))
			defer server.Close()
			if err := os.Mkdir(filepath.Join(dir, "run"), 0o755); err != nil {
				t.Fatal(err)
			}
			mustWriteFile(t, filepath.Join(dir, "p.jsonl"), []byte(`{"prompt": "Run `+"`seq 20000; mkdir sub; echo x > sub/x`"+`."}`))
			run := exec.Command("sh", "-c", `umask $0; exec "$@"`, umask, os.Args[0], "--dataset_file=p.jsonl", "--batch_size=1", "--run_name=r", "--model=simulated",
				"--distribution=local", "--keep_sandboxes=always", "--base_url="+server.URL+"/v1")
			run.Dir = dir
			run.Env = []string{asProgram + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_RUNTIME_DIR=" + filepath.Join(dir, "run"), "XDG_STATE_HOME=" + filepath.Join(dir, "state")}
			if said, err := run.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			<-looked
			checkModes(t, dir, umask, false)
		})
	}
}

// checkModes looks at all that others get at below dir.
func checkModes(t *testing.T, dir, umask string, going bool) {
	t.Helper()
	closed, seen := 0, 0 // folders that others cannot enter, and what they can see
	exposed := ""
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir || path == filepath.Join(dir, "run") {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Mode()&0o022 != 0 && info.Mode()&fs.ModeSocket == 0 {
			t.Errorf("umask %s: others can write %s, %v", umask, path, info.Mode())
		}
		if info.IsDir() && info.Mode()&0o077 == 0 {
			closed++
			return fs.SkipDir
		}
		seen++
		if info.Mode()&fs.ModeSocket != 0 || strings.Contains(path, "hermes-batch") {
			exposed = path
		}
		return nil
	})
	want := 1 // of the sandboxes
	if going {
		want++ // of the socket
	}
	if umask == "077" {
		want++ // of the run
	}
	if err != nil || closed < want || exposed != "" || umask != "077" && seen < 5 {
		t.Errorf("umask %s: %d folders are closed to others, who see %d names, also %q: %v", umask, closed, seen, exposed, err)
	}
}
