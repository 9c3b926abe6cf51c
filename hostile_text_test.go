package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	bolt "go.etcd.io/bbolt"
)

// hostile is what a model, a server, a dataset or a file name may try on a
// terminal: erase it, set its title, fill its clipboard, make it colour or turn
// text, overwrite a line. The word before it tells that it was printed.
const hostile = "shown\x1b[2J\x1b]0;title\x07\x1b]52;c;ZXZpbA==\x1b\\\u009b31m\u202e\u2066\u200b\x7f\b\r"

// hostileName is a file name with as much of it as the system takes.
var hostileName = strings.ReplaceAll(hostile, "/", "")

// hostileText is hostile text for inside a JSON string.
var hostileText = func() string {
	quoted, _ := json.Marshal(hostile)
	return string(quoted[1 : len(quoted)-1])
}()

// allowed is how a terminal is controlled by the program itself: back to the
// line's start, lines up, erase what follows.
var allowed = regexp.MustCompile("\r\n|\r(\x1b\\[[0-9]+A)?\x1b\\[J")

// TestNothingControlsTheTerminal makes every place that prints print what
// somebody else wrote, to a pipe and to a terminal.
func TestNothingControlsTheTerminal(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(hostileModel))
	t.Cleanup(server.Close)
	args := func(more ...string) []string {
		return append([]string{"--dataset_file=p.jsonl", "--batch_size=1", "--run_name=r", "--model=m", "--distribution=local", "--work_dir=work", "--verbose",
			"--log_prefix_chars=300", "--base_url=" + server.URL + "/v1"}, more...)
	}
	prompts := func(name string) string { return fmt.Sprintf(`{"prompt": "#%s %s"}`, name, hostileText) }
	for _, test := range []struct {
		name  string
		files map[string]string
		env   string
		args  []string
		code  int
		quiet bool     // the text itself is not printed
		after []string // a command that prints what the run left behind
	}{
		{name: "replies", files: map[string]string{"p.jsonl": prompts("talk")}, args: args()},
		{name: "error of a server", files: map[string]string{"p.jsonl": prompts("refuse")}, args: args(), code: 1},
		{name: "error in an old form", files: map[string]string{"p.jsonl": prompts("text")}, args: args(), code: 1},
		{name: "refused key", files: map[string]string{"p.jsonl": prompts("key")}, args: args(), code: 3, after: []string{"status", "--run_name=r"}},
		{name: "web page", files: map[string]string{"p.jsonl": prompts("page")}, args: args(), code: 3, after: []string{"status", "--run_name=r"}},
		{name: "redirect", files: map[string]string{"p.jsonl": prompts("redirect")}, args: args(), code: 3},
		{name: "dataset", files: map[string]string{"p.jsonl": "{\"" + hostile + "\": 1}\n{\"prompt\": " + hostile + "}\n[]\n" + prompts("talk")}, args: args()},
		{name: "dataset without rows", files: map[string]string{"p.jsonl": "{\"prompt\": " + hostile + "}\n" + hostile}, args: args(), code: 2, quiet: true},
		{name: "name of a dataset", args: args("--dataset_file=" + hostileName), code: 2},
		{name: "name of a run", args: args("--run_name=" + hostileName), code: 2},
		{name: "base URL", args: args("--base_url=http://" + hostileName), code: 2, quiet: true},
		{name: "work folder", files: map[string]string{"p.jsonl": prompts("talk"), hostileName: "a file"}, args: args("--work_dir=" + hostileName + "/x"), code: 2},
		{name: "distribution", args: args("--distribution=" + hostileName), code: 2},
		{name: "distribution file", files: map[string]string{hostileName: `{"` + hostileText + `": {"terminal": 1}}`}, args: []string{"--list_distributions", "--distribution_file=" + hostileName}, code: 2},
		{name: "toolset", files: map[string]string{"d.json": `{"x": {"` + hostileText + `": 1}}`}, args: []string{"--list_distributions", "--distribution_file=d.json"}, code: 2},
		{name: "percent", files: map[string]string{"d.json": `{"x": {"terminal": "` + hostileText + `"}}`}, args: []string{"--list_distributions", "--distribution_file=d.json"}, code: 2},
		{name: "prefill file", files: map[string]string{"p.jsonl": prompts("talk"), "m.json": `[{"role": "` + hostileText + `", "content": "x"}]`}, args: args("--prefill_messages_file=m.json"), code: 2},
		{name: "configuration", files: map[string]string{"c.json": `{"` + hostileText + `": 1}`}, args: []string{"--config=c.json"}, code: 2},
		{name: "value in a configuration", files: map[string]string{"c.json": `{"max_turns": "` + hostileText + `"}`}, args: []string{"--config=c.json"}, code: 2},
		{name: "configuration that is no JSON", files: map[string]string{hostileName: hostile}, args: []string{"--config=" + hostileName}, code: 2},
		{name: "name of a configuration", args: []string{"--config=" + hostileName}, code: 2},
		{name: "flag", args: []string{"--" + hostile}, code: 2},
		{name: "value", args: []string{"--max_turns=" + hostile}, code: 2},
		{name: "left over", args: []string{"--resume", hostile}, code: 2},
		{name: "verb", args: []string{hostile}, code: 2},
		{name: "help of a verb", args: []string{"help", hostile}, code: 2},
		{name: "variable", env: "HERMES_BATCH_" + hostile + "=1", args: []string{"version"}},
		{name: "value of a variable", env: "HERMES_BATCH_MAX_TURNS=" + hostile, args: []string{}, code: 2},
		{name: "address", args: []string{"simulate", "--addr=" + hostile}, code: 2},
		{name: "store to check", args: []string{"check", "--store=" + hostileName}, code: 2},
		{name: "store to show", args: []string{"status", "--store=" + hostileName}, code: 2},
		{name: "store to export", args: []string{"export", "--out=o", "--store=" + hostileName}, code: 2},
		{name: "what is no store", files: map[string]string{hostileName: hostile}, args: []string{"check", "--store=" + hostileName}, code: 3},
		{name: "short form", files: map[string]string{"p.jsonl": prompts("talk")}, code: 0,
			args: []string{"--input=p.jsonl", "--output=" + hostileName, "--base_url=" + server.URL + "/v1", "--distribution=local", "--work_dir=work"}},
		{name: "short form without its store", files: map[string]string{"p.jsonl": prompts("talk"), hostileName: ""}, code: 2,
			args: []string{"--input=p.jsonl", "--output=" + hostileName, "--base_url=" + server.URL + "/v1"}},
		{name: "export", files: map[string]string{"p.jsonl": prompts("talk")}, args: args(), after: []string{"export", "--run_name=r", "--out=" + hostileName}},
		{name: "export into the folder of others", files: map[string]string{"p.jsonl": prompts("talk"), "o/" + hostileName: ""}, args: args(), after: []string{"export", "--run_name=r", "--out=o"}},
	} {
		for _, terminal := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, terminal %t", test.name, terminal), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				for name, text := range test.files {
					mustWriteFile(t, filepath.Join(dir, name), []byte(text))
				}
				said, code := say(t, dir, terminal, test.env, test.args)
				if code != test.code {
					t.Errorf("exit code %d: %q", code, said)
				}
				if test.after != nil {
					said, _ = say(t, dir, terminal, "", test.after)
				}
				harmless(t, said, !test.quiet)
			})
		}
	}
}

// harmless fails for what could control a terminal.
func harmless(t *testing.T, said string, shows bool) {
	t.Helper()
	said = allowed.ReplaceAllString(said, "")
	if at := strings.IndexFunc(said, controls); at >= 0 {
		t.Errorf("it printed %q in %q", said[at:min(len(said), at+10)], said)
	}
	if !strings.Contains(said, "shown") && shows {
		t.Errorf("the text did not get there: %q", said)
	}
}

// say runs the program and returns all that it printed.
func say(t *testing.T, dir string, terminal bool, env string, args []string) (said string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Dir = dir
	cmd.Env = []string{asProgram + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TERM=xterm-256color", "COLORTERM=truecolor", "XDG_STATE_HOME=" + dir}
	if env != "" {
		cmd.Env = append(cmd.Env, env)
	}
	var out bytes.Buffer
	if terminal {
		master, err := pty.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		defer master.Close()
		if _, err := io.Copy(&out, master); err != nil && !errors.Is(err, syscall.EIO) {
			t.Fatal(err)
		}
	} else {
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// hostileModel puts hostile text wherever an endpoint can.
func hostileModel(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	about := func(word string) bool { return bytes.Contains(body, []byte("#"+word+" ")) }
	switch {
	case about("refuse"):
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error": {"message": %q, "code": %q, "type": %q, "param": %q}}`, hostileText, hostileText, hostileText, hostileText)
	case about("text"):
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, hostile)
	case about("key"):
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error": "%s"}`, hostileText)
	case about("page"):
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, "<html><title>%s</title>", hostile)
	case about("redirect"):
		w.Header()["Location"] = []string{"http://shown\u009b2J\u202e"} // a header with other control characters is refused
		w.WriteHeader(http.StatusFound)
	case bytes.Contains(body, []byte(`"role":"tool"`)):
		fmt.Fprintf(w, `{"model": "%[1]s", "choices": [{"finish_reason": "%[1]s", "message": {"content": "%[1]s", "reasoning": "%[1]s"}}]}`, hostileText)
	default:
		call := func(name, arguments string) string {
			return fmt.Sprintf(`{"id": "%s", "type": "function", "function": {"name": "%s", "arguments": "%s"}}`, hostileText, name, strings.ReplaceAll(strings.ReplaceAll(arguments, `\`, `\\`), `"`, `\"`))
		}
		fmt.Fprintf(w, `{"choices": [{"message": {"content": "%[1]s", "reasoning": "%[1]s", "tool_calls": [%s]}}]}`, hostileText, strings.Join([]string{
			call(hostileText, hostileText), call("calculator", `{"expression": "`+hostileText+`"}`),
			call("terminal", `{"command": "printf '`+hostileText+`'"}`), call("write_file", `{"path": "`+hostileText+`", "content": "`+hostileText+`"}`),
			call("read_file", `{"path": "`+hostileText+`x"}`),
		}, ", "))
	}
}

// A store from somebody else, and who says that he holds it.
func TestHostileStoreIsShownPlainly(t *testing.T) {
	sound := smallRun(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "run.db")
	mustWriteFile(t, path, sound)
	putSealed(t, path, place{[]byte("meta"), []byte("run")}, fmt.Appendf(nil, `{"id": "x", "name": "%s", "tools": ["%s"]}`, hostileText, hostileText))
	said, code := say(t, dir, false, "", []string{"status", "--store=run.db"})
	if harmless(t, said, true); code != exitOK {
		t.Errorf("exit code %d: %q", code, said)
	}

	changeFile(t, path, func(tx *bolt.Tx) error {
		_, err := tx.CreateBucket([]byte(hostile))
		return errors.Join(err, tx.Bucket([]byte("launches")).Put([]byte(hostile), []byte(hostile)))
	})
	said, code = say(t, dir, false, "", []string{"check", "--store=run.db", "--deep"})
	if harmless(t, said, true); code != exitStopped {
		t.Errorf("exit code %d: %q", code, said)
	}

	held, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	mustWriteFile(t, filepath.Join(dir, "run.lock"), fmt.Appendf(nil, `{"pid": 1, "host": "%s", "socket": "%s"}`, hostileText, hostileText))
	for _, verb := range []string{"check", "status"} {
		said, code = say(t, dir, false, "", []string{verb, "--store=run.db"})
		if harmless(t, said, verb == "check"); code != exitStopped {
			t.Errorf("%s: exit code %d: %q", verb, code, said)
		}
	}
}
