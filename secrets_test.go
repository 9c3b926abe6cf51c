package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"hermes-batch/engine/simulated"
)

// nobody is a user without rights.
const nobody = 65534

// TestSecretsAreOutOfReach lets the model read the environment and the
// arguments of every process that its commands can see. The key is masked in
// what is stored, so the command itself counts where it finds it.
func TestSecretsAreOutOfReach(t *testing.T) {
	for _, test := range []struct {
		name string
		uid  int
		flag bool // the key is an argument
	}{
		{"environment", os.Getuid(), false},
		{"argument", os.Getuid(), true},
		{"environment of a user without rights", nobody, false},
		{"argument of a user without rights", nobody, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.uid != os.Getuid() && os.Getuid() != 0 {
				t.Skip("only root can become somebody else")
			}
			spyOn(t, test.uid, test.flag)
		})
	}
}

func spyOn(t *testing.T, uid int, flag bool) {
	model, err := simulated.New(simulated.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(model)
	defer server.Close()
	canary := rand.Text()
	program, dir := openToAll(t, uid)
	// The pattern does not match itself, where it is an argument.
	spy := fmt.Sprintf(`cat /proc/[0-9]*/environ /proc/[0-9]*/task/*/environ /proc/[0-9]*/cmdline 2>/dev/null > ../seen; `+
		`grep -ac 'sk-[c]anary-%s' ../seen; grep -ac HERMES_BATCH_SANDBOX= ../seen`, canary)
	data, err := json.Marshal(map[string]string{"prompt": "Run `" + spy + "`."})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "data.jsonl"), data, 0o644); err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command(program, "--dataset_file=data.jsonl", "--batch_size=1", "--run_name=spy", "--model=simulated",
		"--distribution=local", "--base_url="+server.URL+"/v1", "--work_dir=state", "--verbose")
	cmd.Dir = dir
	cmd.Env = []string{asProgram + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid), NoSetGroups: uid == os.Getuid()}}
	if flag {
		cmd.Args = append(cmd.Args, "--api-key", "sk-canary-"+canary+"-argument", "--resume")
	} else {
		for _, name := range []string{"HERMES_BATCH_API_KEY", "OPENROUTER_API_KEY", "NOUS_API_KEY", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY"} {
			cmd.Env = append(cmd.Env, name+"=sk-canary-"+canary+"-"+name)
		}
	}
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, said)
	}
	hits, sandboxes := found(t, filepath.Join(dir, "data/spy/trajectories.jsonl"))
	if hits != 0 {
		t.Errorf("a command saw the key at %d places", hits)
	}
	if sandboxes == 0 {
		t.Error("a command did not even see its own environment")
	}
	nowhereIn(t, dir, "sk-canary-"+canary)
	if bytes.Contains(said, []byte("sk-canary-"+canary)) {
		t.Errorf("the program said the key:\n%s", said)
	}
}

// openToAll is a copy of this program and an empty folder of a user's, both
// where every user can get at them.
func openToAll(t *testing.T, uid int) (program, dir string) {
	t.Helper()
	dir = t.TempDir()
	program = filepath.Join(t.TempDir(), "hermes-batch")
	binary, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(program, binary, 0o755)
	}
	for _, path := range []string{filepath.Dir(dir), filepath.Dir(filepath.Dir(program)), filepath.Dir(program)} {
		if err == nil {
			err = os.Chmod(path, 0o755)
		}
	}
	if err == nil {
		err = os.Chown(dir, uid, -1)
	}
	if err != nil {
		t.Fatal(err)
	}
	return program, dir
}

// found reads the two counts that the command printed.
func found(t *testing.T, rows string) (hits, sandboxes int) {
	t.Helper()
	var row struct {
		Conversations []struct{ From, Value string }
	}
	raw, err := os.ReadFile(rows)
	if err == nil {
		err = json.Unmarshal(raw, &row)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range row.Conversations {
		var result struct{ Output string }
		if c.From == "tool" && json.Unmarshal([]byte(c.Value), &result) == nil {
			counts := strings.Fields(result.Output)
			if len(counts) != 2 {
				t.Fatalf("the command said %q", result.Output)
			}
			hits, err = strconv.Atoi(counts[0])
			if err == nil {
				sandboxes, err = strconv.Atoi(counts[1])
			}
			if err != nil {
				t.Fatal(err)
			}
			return hits, sandboxes
		}
	}
	t.Fatalf("no result in %s", raw)
	return 0, 0
}

// nowhereIn fails if a file below dir holds a text.
func nowhereIn(t *testing.T, dir, text string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(text)) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
