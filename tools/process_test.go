package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"hermes-batch/tools/sandbox"
)

// background starts a command in the background and returns its session_id.
func (s *session) background(command, more string) string {
	s.Helper()
	r := s.run(terminal{}, `{"command":`+encode(command)+`,"background":true`+more+`}`)
	id := textField(s.T, r, "session_id")
	want := fmt.Sprintf(`{"output":"Background process started","session_id":%q,"pid":%s,"exit_code":0,"error":null}`, id, field(s.T, r, "pid"))
	if !strings.HasPrefix(id, "proc_") || r.Text != want || r.Status != StatusOK || r.Shell != nil {
		s.Fatalf("%s: %s %s", command, r.Status, r.Text)
	}
	return id
}

// process calls the tool for one process; more are further members.
func (s *session) process(action, id, more string) Result {
	s.Helper()
	return s.run(process{}, `{"action":"`+action+`","session_id":"`+id+`"`+more+`}`)
}

// wants compares a result.
func (s *session) wants(r Result, text, status string) {
	s.Helper()
	if r.Text != text || r.Status != status {
		s.Errorf("\n got %s %s\nwant %s %s", r.Status, r.Text, status, text)
	}
}

// until polls a process until its output has a part.
func (s *session) until(id, part string) {
	s.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		output := textField(s.T, s.process("poll", id, ""), "output_preview")
		if strings.Contains(output, part) {
			return
		}
		if time.Now().After(end) {
			s.Fatalf("%s: no %q in %q", id, part, output)
		}
	}
}

func TestProcess(t *testing.T) {
	s := newSession(t)
	s.wants(s.run(process{}, `{"action":"list"}`), `{"processes":[]}`, StatusOK)
	s.run(terminal{}, `{"command":"mkdir sub && cd sub && export NAME=ann"}`)
	const command = `echo "hello $NAME"; while read -r x; do echo "<$x>"; done; exit 3`
	id := s.background(command, "")
	s.until(id, "hello ann")

	var polled map[string]any
	if err := json.Unmarshal([]byte(s.process("poll", id, "").Text), &polled); err != nil {
		t.Fatal(err)
	}
	started, err := time.Parse("2006-01-02T15:04:05", polled["started_at"].(string))
	if age := time.Since(started); err != nil || age < -time.Second || age > time.Minute {
		t.Errorf("started %v ago, %v", age, err)
	}
	delete(polled, "started_at")
	delete(polled, "uptime_seconds")
	if polled["pid"].(float64) < 2 {
		t.Errorf("pid %v", polled["pid"])
	}
	delete(polled, "pid")
	want := map[string]any{"session_id": id, "command": command, "cwd": s.box.Root() + "/sub", "status": "running", "output_preview": "hello ann\n"}
	if fmt.Sprint(polled) != fmt.Sprint(want) {
		t.Errorf("poll: %v, want %v", polled, want)
	}

	s.wants(s.process("write", id, `,"data":"a\nb"`), `{"status":"ok","bytes_written":3}`, StatusOK)
	s.wants(s.process("submit", id, `,"data":"é"`), `{"status":"ok","bytes_written":3}`, StatusOK)
	s.until(id, "<bé>")
	s.wants(s.process("wait", id, `,"timeout":1`),
		`{"status":"timeout","command":`+encode(command)+`,"output":"hello ann\n<a>\n<bé>\n","timeout_note":"Waited 1s; the process is still running"}`, StatusOK)
	s.wants(s.process("submit", id, ""), `{"status":"ok","bytes_written":1}`, StatusOK)
	s.wants(s.process("close", id, ""), `{"status":"ok","message":"the end of the input was sent"}`, StatusOK)
	s.wants(s.process("wait", id, ""), `{"status":"exited","command":`+encode(command)+`,"exit_code":3,"output":"hello ann\n<a>\n<bé>\n<>\n"}`, StatusOK)
	s.wants(s.process("kill", id, ""), `{"status":"already_exited","session_id":"`+id+`","exit_code":3}`, StatusOK)
	if r := s.process("submit", id, `,"data":"late"`); textField(t, r, "status") != "already_exited" || field(t, r, "error") == "" || r.Status != StatusError {
		t.Errorf("write to one that has ended: %s %s", r.Status, r.Text)
	}
	if r := s.process("poll", id, ""); textField(t, r, "status") != "exited" || field(t, r, "exit_code") != "3" || textField(t, r, "completion_reason") != "exited" {
		t.Errorf("poll after the end: %s", r.Text)
	}
}

func TestProcessLog(t *testing.T) {
	s := newSession(t)
	id := s.background("seq 500", "")
	s.process("wait", id, "")
	numbers := func(from, to int) string {
		var b strings.Builder
		for n := from; n <= to; n++ {
			fmt.Fprintln(&b, n)
		}
		return b.String()
	}
	for _, c := range []struct{ args, output, showing string }{
		{``, numbers(301, 500), "lines 301-500 of 500"},
		{`,"limit":2`, numbers(499, 500), "lines 499-500 of 500"},
		{`,"limit":1000`, numbers(1, 500), "lines 1-500 of 500"},
		{`,"offset":0,"limit":3`, numbers(1, 3), "lines 1-3 of 500"},
		{`,"offset":"10","limit":1`, numbers(11, 11), "lines 11-11 of 500"},
		{`,"offset":499`, numbers(500, 500), "lines 500-500 of 500"},
		{`,"offset":500`, "", "no lines of 500"},
		{`,"offset":9223372036854775807,"limit":9223372036854775807`, "", "no lines of 500"},
	} {
		want := `{"session_id":"` + id + `","command":"seq 500","status":"exited","output":` + encode(c.output) + `,"total_lines":500,"showing":"` + c.showing + `"}`
		s.wants(s.process("log", id, c.args), want, StatusOK)
	}
	id = s.background("printf 'a\nb'", "")
	s.process("wait", id, "")
	if r := s.process("log", id, ""); textField(t, r, "output") != "a\nb" || field(t, r, "total_lines") != "2" {
		t.Errorf("got %s", r.Text)
	}
	id = s.background("true", "")
	s.process("wait", id, "")
	if r := s.process("log", id, ""); textField(t, r, "output") != "" || field(t, r, "total_lines") != "0" || textField(t, r, "showing") != "no lines of 0" {
		t.Errorf("got %s", r.Text)
	}
}

func TestProcessLongOutput(t *testing.T) {
	s := newSession(t)
	id := s.background(`yes "zażółć" | head -c 50000000; echo; echo end`, "")
	r := s.process("wait", id, "")
	if output := textField(t, r, "output"); len(output) > exitPreview || len(output) < exitPreview-utf8.UTFMax || !strings.HasSuffix(output, "\nend\n") {
		t.Errorf("wait shows %d bytes: %q", len(output), output)
	}
	r = s.process("poll", id, "")
	if output := textField(t, r, "output_preview"); len(output) > pollPreview || !strings.HasSuffix(output, "\nend\n") {
		t.Errorf("poll shows %d bytes", len(output))
	}
	r = s.process("log", id, `,"limit":100000`)
	output := textField(t, r, "output")
	if field(t, r, "bytes_before") == "" || !strings.HasSuffix(output, "\nend\n") || !utf8.ValidString(output) || r.Dropped == 0 {
		t.Errorf("log shows %d bytes of the end, %d dropped: %.200s", len(output), r.Dropped, r.Text)
	}
	r = s.run(process{}, `{"action":"list"}`)
	var shown struct{ Processes []processState }
	if err := json.Unmarshal([]byte(r.Text), &shown); err != nil || len(shown.Processes) != 1 || len(shown.Processes[0].Output) > listPreview {
		t.Errorf("list: %s", r.Text)
	}
}

func TestProcessKill(t *testing.T) {
	s := newSession(t)
	id := s.background(`trap "" TERM; echo ready; sleep 100 & wait; sleep 100`, "")
	s.until(id, "ready")
	start := time.Now()
	s.wants(s.process("kill", id, ""), `{"status":"killed","session_id":"`+id+`","exit_code":-15}`, StatusOK)
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("took %v", took)
	}
	s.wants(s.process("kill", id, ""), `{"status":"already_exited","session_id":"`+id+`","exit_code":-15}`, StatusOK)
	if r := s.process("poll", id, ""); field(t, r, "exit_code") != "-15" || textField(t, r, "completion_reason") != "killed" {
		t.Errorf("poll after kill: %s", r.Text)
	}
	if r := s.process("wait", id, ""); field(t, r, "exit_code") != "-15" || textField(t, r, "status") != "exited" {
		t.Errorf("wait after kill: %s", r.Text)
	}
}

// A program to talk to: with a terminal it echoes, prompts and takes Ctrl-C.
func TestProcessTerminal(t *testing.T) {
	s := newSession(t)
	id := s.background(`bash --norc --noprofile -i`, `,"pty":true`)
	s.process("submit", id, `,"data":"echo $((6*7)); sleep 300"`)
	s.until(id, "\n42\n")
	s.process("write", id, `,"data":"\u0003"`)
	s.process("submit", id, `,"data":"echo $((6*8))"`)
	s.until(id, "\n48\n")
	s.wants(s.process("submit", id, `,"data":"rm -rf /"`),
		`{"status":"blocked","error":"BLOCKED: removing a system folder or the home folder is never run. Do it another way, or leave it out."}`, StatusBlocked)
	s.process("close", id, "")
	if r := s.process("wait", id, ""); textField(t, r, "status") != "exited" {
		t.Errorf("after the end of the input: %s", r.Text)
	}
}

func TestProcessList(t *testing.T) {
	s := newSession(t)
	running := s.background("sleep 300 # "+strings.Repeat("é", 200), "")
	ids := []string{running}
	for range 3 {
		id := s.background("echo out", "")
		s.process("wait", id, "")
		ids = append(ids, id)
	}
	var shown struct{ Processes []processState }
	r := s.run(process{}, `{"action":"list","session_id":null,"limit":5}`)
	if err := json.Unmarshal([]byte(r.Text), &shown); err != nil || len(shown.Processes) != len(ids) {
		t.Fatalf("list: %v: %s", err, r.Text)
	}
	for i, p := range shown.Processes {
		if p.SessionID != ids[i] || p.PID < 2 || p.Cwd != s.box.Root() || (p.Status == "running") != (i == 0) || i > 0 && (p.Output != "out\n" || *p.ExitCode != 0) {
			t.Errorf("process %d: %+v", i, p)
		}
	}
	if c := shown.Processes[0].Command; len(c) > listPreview+len("…") || !utf8.ValidString(c) || !strings.HasPrefix(c, "sleep 300") {
		t.Errorf("command %q", c)
	}
	many := fakeJobs{}
	for i := range 200 {
		many.list = append(many.list, sandbox.Job{ID: fmt.Sprint("proc_", i), Running: i < 3})
	}
	r, err := listProcesses(t.Context(), many)
	if err != nil || json.Unmarshal([]byte(r.Text), &shown) != nil || len(shown.Processes) != 3+listEnded ||
		shown.Processes[2].SessionID != "proc_2" || shown.Processes[3].SessionID != "proc_168" {
		t.Errorf("of 200: %d, %v", len(shown.Processes), err)
	}
}

type fakeJobs struct {
	sandbox.Jobs
	list []sandbox.Job
}

func (f fakeJobs) List(context.Context) ([]sandbox.Job, error) { return f.list, nil }

func TestProcessBadInput(t *testing.T) {
	s := newSession(t)
	id := s.background("sleep 300", "")
	for _, c := range []struct{ args, text, status string }{
		{`{}`, `{"error":"bad arguments for process: missing \"action\". Expected: action (required), session_id, data, timeout, offset, limit. Given: nothing."}`, StatusBadArguments},
		{`{"action":"stop"}`, `{"error":"bad arguments for process: \"action\" must be one of \"list\",\"poll\",\"log\",\"wait\",\"kill\",\"write\",\"submit\",\"close\", not \"stop\". Expected: action (required), session_id, data, timeout, offset, limit. Given: action."}`, StatusBadArguments},
		{`{"action":"poll"}`, `{"error":"bad arguments for process: poll needs session_id"}`, StatusBadArguments},
		{`{"action":"write","session_id":"` + id + `"}`, `{"error":"bad arguments for process: write needs data"}`, StatusBadArguments},
		{`{"action":"poll","session_id":"proc_nope"}`, `{"status":"not_found","error":"there is no background process \"proc_nope\"; the action list shows all"}`, StatusError},
		{`{"action":"log","session_id":"../../etc"}`, `{"status":"not_found","error":"there is no background process \"../../etc\"; the action list shows all"}`, StatusError},
		{`{"action":"wait","session_id":"7"}`, `{"status":"not_found","error":"there is no background process \"7\"; the action list shows all"}`, StatusError},
		{`{"action":"kill","session_id":"proc_"}`, `{"status":"not_found","error":"there is no background process \"proc_\"; the action list shows all"}`, StatusError},
		{`{"action":"submit","session_id":"x","data":"y"}`, `{"status":"not_found","error":"there is no background process \"x\"; the action list shows all"}`, StatusError},
		{`{"action":"close","session_id":"x"}`, `{"status":"not_found","error":"there is no background process \"x\"; the action list shows all"}`, StatusError},
		{`{"action":"write","session_id":"` + id + `","data":""}`, `{"status":"ok","bytes_written":0}`, StatusOK},
		{`{"action":"write","session_id":"` + id + `","data":["a"]}`, `{"error":"bad arguments for process: \"data\" must be a string, not [\"a\"]. Expected: action (required), session_id, data, timeout, offset, limit. Given: action, session_id, data."}`, StatusBadArguments},
	} {
		s.wants(s.run(process{}, c.args), c.text, c.status)
	}
}

// A wait is no longer than a command in the foreground, whatever is asked for, and ends with the
// context.
func TestProcessWaitLimit(t *testing.T) {
	j := &waitJobs{}
	args := processArgs{Action: "wait", SessionID: "proc_1", Timeout: 9000}
	r, err := args.run(t.Context(), j)
	if err != nil || j.limit != defaultSeconds*time.Second || !strings.Contains(r.Text, "180s is the longest") {
		t.Errorf("waited %v: %s, %v", j.limit, r.Text, err)
	}
	s := newSession(t)
	id := s.background("sleep 300", "")
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err = Run(ctx, process{}, s.call(`{"action":"wait","session_id":"`+id+`"}`))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

type waitJobs struct {
	sandbox.Jobs
	limit time.Duration
}

func (w *waitJobs) Wait(_ context.Context, id string, limit time.Duration) (sandbox.Job, error) {
	w.limit = limit
	return sandbox.Job{ID: id, Running: true}, nil
}

// A call that changes something counts as begun, so that after a crash nothing is written twice
// without a mark; one that looks may be repeated. The start of a process is known like any command.
func TestProcessRecall(t *testing.T) {
	s := newSession(t)
	start := s.call(`{"command":"cat","background":true}`)
	r, err := Run(t.Context(), terminal{}, start)
	if err != nil {
		t.Fatal(err)
	}
	again, state, err := Recall(t.Context(), terminal{}, start)
	if err != nil || state != sandbox.CallDone || again.Text != r.Text || again.Shell != nil {
		t.Errorf("Recall = %s, %v, %v; want %s", again.Text, state, err, r.Text)
	}
	for action, after := range map[string]sandbox.CallState{
		"list": sandbox.CallNever, "poll": sandbox.CallNever, "log": sandbox.CallNever, "wait": sandbox.CallNever,
		"write": sandbox.CallLost, "submit": sandbox.CallLost, "close": sandbox.CallLost, "kill": sandbox.CallLost,
	} {
		call := s.call(`{"action":"` + action + `","session_id":"` + textField(t, r, "session_id") + `","data":"x","timeout":1}`)
		if _, state, err := Recall(t.Context(), process{}, call); state != sandbox.CallNever || err != nil {
			t.Errorf("%s before: %v, %v", action, state, err)
		}
		if _, err := Run(t.Context(), process{}, call); err != nil {
			t.Fatal(err)
		}
		if _, state, err := Recall(t.Context(), process{}, call); state != after || err != nil {
			t.Errorf("%s after: %v, %v", action, state, err)
		}
	}
}

type fullSandbox struct{ sandbox.Sandbox }

func (fullSandbox) Exec(context.Context, sandbox.Command) (sandbox.Result, error) {
	return sandbox.Result{}, fmt.Errorf("run: %w", sandbox.ErrTooManyJobs)
}

func TestTerminalTooManyProcesses(t *testing.T) {
	r, err := Run(t.Context(), terminal{}, &Call{Args: json.RawMessage(`{"command":"true","background":true}`), Sandbox: fullSandbox{}})
	want := `{"output":"","exit_code":-1,"error":"64 background processes are running; end one with the process tool first","status":"error"}`
	if err != nil || r.Text != want || r.Status != StatusError {
		t.Errorf("got %s %s, %v", r.Status, r.Text, err)
	}
}
