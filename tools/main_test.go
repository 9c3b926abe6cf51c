package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"hermes-batch/testdata/leak"
	"hermes-batch/tools/sandbox"
)

var update = flag.Bool("update", false, "write golden files anew")

// TestMain lets the sandbox start this test binary as supervisor of its commands.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.SuperviseArg {
		os.Exit(sandbox.Supervise())
	}
	os.Exit(leak.Check(m.Run()))
}

// session is a sandbox with a shell state that goes from call to call, as in a real session.
type session struct {
	*testing.T
	box   *sandbox.Local
	shell sandbox.Shell
	calls int
}

func newSession(t *testing.T) *session {
	t.Helper()
	box, err := sandbox.OpenLocal(sandbox.LocalOptions{Base: filepath.Join(t.TempDir(), "box")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(context.Background(), true); err != nil {
			t.Error(err)
		}
	})
	return &session{T: t, box: box, shell: sandbox.Shell{Cwd: box.Root()}}
}

func (s *session) call(args string) *Call {
	s.calls++
	return &Call{
		Args: json.RawMessage(args), Key: "1-2-" + strconv.Itoa(s.calls),
		Sandbox: s.box, Shell: s.shell,
	}
}

// run calls a tool and takes over the shell state.
func (s *session) run(tool Tool, args string) Result {
	s.Helper()
	r, err := Run(context.Background(), tool, s.call(args))
	if err != nil {
		s.Fatalf("%s %s: %v", tool.Spec().Name, args, err)
	}
	checkResult(s.T, r)
	if r.Shell != nil {
		s.shell = *r.Shell
	}
	return r
}

// survivors lists the processes of the session's sandbox.
func (s *session) survivors() (commands []string) {
	s.Helper()
	names, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		s.Fatal(err)
	}
	for _, name := range names {
		environment, _ := os.ReadFile(filepath.Join(name, "environ"))
		if bytes.Contains(environment, []byte(s.box.Nonce())) {
			command, _ := os.ReadFile(filepath.Join(name, "cmdline"))
			commands = append(commands, string(command))
		}
	}
	return commands
}

// checkResult holds what is true of every result.
func checkResult(t *testing.T, r Result) {
	t.Helper()
	if _, err := members([]byte(r.Text)); err != nil {
		t.Errorf("result is no JSON object: %v: %.200s", err, r.Text)
	}
	if len(r.Text) > resultLimit {
		t.Errorf("result has %d bytes", len(r.Text))
	}
	if r.Success != (r.Status == StatusOK) {
		t.Errorf("success %v with status %q", r.Success, r.Status)
	}
}

// write puts a file into the work folder.
func (s *session) write(name, content string) {
	s.Helper()
	path := filepath.Join(s.box.Root(), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		s.Fatal(err)
	}
}

func (s *session) read(name string) string {
	s.Helper()
	data, err := os.ReadFile(filepath.Join(s.box.Root(), name))
	if err != nil {
		s.Fatal(err)
	}
	return string(data)
}

// field returns one value of a result as its JSON text.
func field(t *testing.T, r Result, key string) string {
	t.Helper()
	ms, err := members([]byte(r.Text))
	if err != nil {
		t.Fatalf("%v: %s", err, r.Text)
	}
	for _, m := range ms {
		if m.key == key {
			return string(m.value)
		}
	}
	return ""
}

// textField returns one string of a result.
func textField(t *testing.T, r Result, key string) string {
	t.Helper()
	var s string
	if v := field(t, r, key); v != "" {
		if err := json.Unmarshal([]byte(v), &s); err != nil {
			t.Fatalf("%s is no string: %s", key, v)
		}
	}
	return s
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s differs from what is made now (go test -update writes it):\n%s", path, got)
	}
}
