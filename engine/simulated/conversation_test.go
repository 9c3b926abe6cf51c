package simulated

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// allTools are what the distribution "local" offers.
var allTools = []string{"terminal", "read_file", "write_file", "calculator"}

// conversation plays the part of the engine: it sends requests through the
// in-process transport and carries out the calls in a folder of its own.
type conversation struct {
	t        *testing.T
	client   *http.Client
	tools    []string
	folder   string
	path     string // PATH of the shell
	state    string // file with the shell's variables
	canned   bool   // calls have fixed results and no effect
	messages []map[string]any
	replies  []spoken
	finishes []string
	usages   []usage
}

func newServer(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func converse(t *testing.T, prompt string, tools ...string) *conversation {
	t.Helper()
	c := &conversation{t: t, tools: tools, folder: t.TempDir()}
	c.client = &http.Client{Transport: Transport(newServer(t, Options{}))}
	c.messages = []map[string]any{{"role": "user", "content": prompt}}
	return c
}

// can gives every call the same result.
func (c *conversation) can() *conversation {
	c.canned = true
	return c
}

// run goes on until the model answers or has had so many turns.
func (c *conversation) run(turns int) *conversation {
	c.t.Helper()
	for range turns {
		m := c.step()
		if len(m.ToolCalls) == 0 {
			return c
		}
		for _, call := range m.ToolCalls {
			c.messages = append(c.messages, map[string]any{"role": "tool", "tool_call_id": call.ID, "content": c.execute(call.Function)})
		}
	}
	return c
}

// step asks for one reply; an empty one is asked for again, as clients do.
func (c *conversation) step() spoken {
	c.t.Helper()
	for range 6 {
		status, body := post(c.t, c.client, c.body())
		if status != http.StatusOK {
			c.t.Fatalf("status %d: %s", status, body)
		}
		var reply completion
		if err := json.Unmarshal(body, &reply); err != nil {
			c.t.Fatal(err)
		}
		m := reply.Choices[0].Message
		if m.Content == nil && m.Reasoning == "" && m.Refusal == "" && len(m.ToolCalls) == 0 {
			continue
		}
		c.messages = append(c.messages, map[string]any{"role": "assistant", "content": m.Content, "tool_calls": m.ToolCalls})
		c.replies = append(c.replies, m)
		c.finishes = append(c.finishes, reply.Choices[0].Finish)
		c.usages = append(c.usages, reply.Usage)
		return m
	}
	c.t.Fatal("six empty replies in a row")
	return spoken{}
}

func (c *conversation) body() []byte {
	var tools []any
	for _, name := range c.tools {
		tools = append(tools, map[string]any{"type": "function", "function": map[string]any{"name": name}})
	}
	request := map[string]any{"model": "simulated", "messages": c.messages}
	if tools != nil {
		request["tools"] = tools
	}
	return encode(request)
}

// answer is the content of the last reply.
func (c *conversation) answer() string {
	last := c.replies[len(c.replies)-1]
	if last.Content == nil {
		return ""
	}
	return *last.Content
}

// calls are the names of the tools called, a turn each: "a b, c".
func (c *conversation) calls() string {
	var turns []string
	for _, m := range c.replies {
		var names []string
		for _, call := range m.ToolCalls {
			names = append(names, call.Function.Name)
		}
		if len(names) > 0 {
			turns = append(turns, strings.Join(names, " "))
		}
	}
	return strings.Join(turns, ", ")
}

func post(t *testing.T, client *http.Client, body []byte) (status int, reply []byte) {
	t.Helper()
	resp, err := client.Post("http://simulated/v1/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	reply, err = io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, reply
}

// execute carries out a call with results in the shapes of the real tools.
func (c *conversation) execute(f function) string {
	c.t.Helper()
	if c.canned {
		return `{"output": "x", "content": "1|x", "result": "3", "exit_code": 0, "error": null}`
	}
	var args map[string]string
	if err := json.Unmarshal([]byte(f.Arguments), &args); err != nil {
		return `{"error": "arguments are no JSON object"}`
	}
	switch f.Name {
	case "calculator":
		return c.calculate(args["expression"])
	case "terminal":
		return c.shell(args["command"])
	case "read_file":
		return c.readFile(args["path"])
	case "write_file":
		return c.writeFile(args["path"], args["content"])
	}
	return "Tool '" + f.Name + "' does not exist. Available tools: " + strings.Join(c.tools, ", ")
}

func (c *conversation) calculate(text string) string {
	e, ok := scanner{text}.binary(0, sums, 0)
	if !ok || e.end != len(text) {
		return `{"error": "not an expression"}`
	}
	if v := inHead(text); v != "undefined" {
		return string(encode(map[string]string{"result": v, "expression": text}))
	}
	return `{"error": "division by zero"}`
}

// coreutils are what a bare system has beside sh.
const coreutils = "ls wc cat head tail sort uniq echo mkdir cp mv rm seq tr cut date id uname nproc df paste tac"

// bare is a PATH with nothing but sh and coreutils in it, so that prompts are
// answered without anything else.
func bare(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range strings.Fields("sh " + coreutils) {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(folder, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// shell runs a command in the session's shell state.
func (c *conversation) shell(line string) string {
	if c.path == "" {
		c.path, c.state = bare(c.t), filepath.Join(c.t.TempDir(), "state")
	}
	script := "trap 'export -p > " + c.state + "' EXIT\n[ ! -f " + c.state + " ] || . " + c.state + "\n" + line + "\n"
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Env = c.folder, []string{"PATH=" + c.path}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	return string(encode(map[string]any{"output": strings.TrimSpace(string(out)), "exit_code": cmd.ProcessState.ExitCode(), "error": nil}))
}

func (c *conversation) readFile(path string) string {
	data, err := os.ReadFile(filepath.Join(c.folder, path))
	if err != nil {
		return string(encode(map[string]string{"error": "File not found: " + path}))
	}
	var numbered strings.Builder
	lines := strings.SplitAfter(string(data), "\n")
	for i, line := range lines {
		if line != "" {
			numbered.WriteString(strconv.Itoa(i+1) + "|" + line)
		}
	}
	return string(encode(map[string]any{"content": strings.TrimSuffix(numbered.String(), "\n"), "total_lines": len(lines) - 1, "file_size": len(data), "truncated": false}))
}

func (c *conversation) writeFile(path, content string) string {
	name := filepath.Join(c.folder, path)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		c.t.Fatal(err)
	}
	return string(encode(map[string]any{"bytes_written": len(content), "dirs_created": false}))
}
