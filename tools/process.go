package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hermes-batch/tools/sandbox"
)

// process is the tool of that name: the processes that terminal started in the background.
type process struct{}

func (process) Spec() Spec {
	return Spec{
		Name: "process",
		Description: "Handles the processes that terminal started with background. " +
			"list: all of them; poll: how one stands, with the end of its output; log: its output by lines; " +
			"wait: until it ends, or the timeout; kill: ends it and all that it started; " +
			"write: sends data to its standard input as it is; submit: the same as a line; close: ends its input.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"action":{"type":"string","enum":["list","poll","log","wait","kill","write","submit","close"],"description":"What to do"},` +
			`"session_id":{"type":"string","description":"The session_id that terminal returned; for all but list"},` +
			`"data":{"type":"string","description":"Text for write and submit"},` +
			`"timeout":{"type":"integer","description":"Seconds to wait at most; at most 180","minimum":1,"default":180},` +
			`"offset":{"type":"integer","description":"For log: lines to skip from the start; the last lines are shown if left out","minimum":0},` +
			`"limit":{"type":"integer","description":"For log: lines to show","minimum":1,"default":200}` +
			`},"required":["action"],"additionalProperties":false}`),
		State:      StateSandbox,
		Repeatable: looks,
	}
}

// looks says that a call of process only looks at processes. One that waits changes nothing either,
// but what comes after it relies on that.
func looks(args json.RawMessage) bool {
	var a processArgs
	return json.Unmarshal(args, &a) == nil && slices.Contains([]string{"list", "poll", "log", "wait"}, a.Action)
}

type processArgs struct {
	Action    string
	SessionID string `json:"session_id"`
	Data      *string
	Timeout   int
	Offset    *int
	Limit     int
}

func (process) Call(ctx context.Context, c *Call) (Result, error) {
	args := processArgs{Timeout: defaultSeconds, Limit: 200}
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return Result{}, err
	}
	jobs := c.Sandbox.Jobs()
	var r Result
	var err error
	switch {
	case args.Action == "list":
		r, err = listProcesses(ctx, jobs)
	case args.SessionID == "":
		return failure(StatusBadArguments, fmt.Sprintf("bad arguments for process: %s needs session_id", args.Action)), nil
	default:
		r, err = args.run(ctx, jobs)
	}
	if errors.Is(err, sandbox.ErrNoJob) {
		return processFailure("not_found", fmt.Sprintf("there is no background process %q; the action list shows all", preview(args.SessionID, 100))), nil
	}
	return r, err
}

// run carries out an action on one process.
func (a processArgs) run(ctx context.Context, jobs sandbox.Jobs) (Result, error) {
	switch a.Action {
	case "wait":
		return a.wait(ctx, jobs)
	case "kill":
		return a.kill(ctx, jobs)
	case "write", "submit", "close":
		return a.write(ctx, jobs)
	}
	j, err := jobs.Wait(ctx, a.SessionID, 0)
	switch {
	case err != nil:
		return Result{}, err
	case a.Action == "log":
		return withOutput(a.log(j), j), nil
	default:
		return withOutput(success(processOf(j, pollPreview)), j), nil
	}
}

// withOutput adds to a result that tells of one process where all of its output is, if that is
// more than is remembered.
func withOutput(r Result, j sandbox.Job) Result {
	if r.Full = outputOf(j.Result); r.Full != nil {
		r.Full.Growing = j.Running
	}
	return r
}

// listEnded is how many processes that have ended a list shows.
const listEnded = 32

// How much of a process's output is shown, in bytes, where it is not asked for.
const (
	listPreview = 200 // also of its command
	pollPreview = 1000
	exitPreview = 2000
)

// processState tells of a process in a list, or of one alone.
type processState struct {
	SessionID string `json:"session_id"`
	Command   string `json:"command"`
	Cwd       string `json:"cwd"`
	PID       int    `json:"pid"`
	Started   string `json:"started_at"`
	Uptime    int64  `json:"uptime_seconds"`
	Status    string `json:"status"`
	Output    string `json:"output_preview"`
	ExitCode  *int   `json:"exit_code,omitempty"`
	Reason    string `json:"completion_reason,omitempty"`
}

func processOf(j sandbox.Job, outputBytes int) processState {
	s := processState{
		SessionID: j.ID,
		Command:   j.Script,
		Cwd:       j.Dir,
		PID:       j.PID,
		Started:   j.Started.UTC().Format("2006-01-02T15:04:05"),
		Uptime:    int64(j.Result.Took.Seconds()),
		Status:    statusOf(j),
		Output:    lastBytes(string(j.Result.Output), outputBytes),
	}
	if !j.Running {
		code := exitCodeOf(j)
		s.ExitCode, s.Reason = &code, reasonOf(j)
	}
	return s
}

func statusOf(j sandbox.Job) string {
	if j.Running {
		return "running"
	}
	return "exited"
}

// exitCodeOf is -15 for a process that was ended on demand, however it took that.
func exitCodeOf(j sandbox.Job) int {
	if j.Result.Killed {
		return -15
	}
	return j.Result.ExitCode
}

func reasonOf(j sandbox.Job) string {
	switch {
	case j.Result.Killed:
		return "killed"
	case j.Result.TimedOut:
		return "time_limit"
	default:
		return "exited"
	}
}

// listProcesses lists the processes that run, and of the others the last ones.
func listProcesses(ctx context.Context, jobs sandbox.Jobs) (Result, error) {
	all, err := jobs.List(ctx)
	if err != nil {
		return Result{}, err
	}
	shown := []processState{}
	ended := 0
	for _, j := range slices.Backward(all) {
		if !j.Running {
			ended++
		}
		if j.Running || ended <= listEnded {
			state := processOf(j, listPreview)
			state.Command = preview(state.Command, listPreview)
			shown = append(shown, state)
		}
	}
	slices.Reverse(shown)
	return success(struct {
		Processes []processState `json:"processes"`
	}{shown}), nil
}

// log shows lines of the output.
func (a processArgs) log(j sandbox.Job) Result {
	lines := strings.SplitAfter(string(j.Result.Output), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	first := max(0, len(lines)-a.Limit)
	if a.Offset != nil {
		first = min(*a.Offset, len(lines))
	}
	end := first + min(a.Limit, len(lines)-first)
	showing := fmt.Sprintf("lines %d-%d of %d", first+1, end, len(lines))
	if first == end {
		showing = fmt.Sprintf("no lines of %d", len(lines))
	}
	return success(struct {
		SessionID string `json:"session_id"`
		Command   string `json:"command"`
		Status    string `json:"status"`
		Output    string `json:"output"`
		Lines     int    `json:"total_lines"`
		Showing   string `json:"showing"`
		Forgotten int64  `json:"bytes_before,omitempty"` // that are not kept any more
	}{j.ID, j.Script, statusOf(j), strings.Join(lines[first:end], ""), len(lines), showing, j.Result.Dropped})
}

// wait waits for the end, but no longer than a command in the foreground may take.
func (a processArgs) wait(ctx context.Context, jobs sandbox.Jobs) (Result, error) {
	seconds := min(a.Timeout, defaultSeconds)
	j, err := jobs.Wait(ctx, a.SessionID, time.Duration(seconds)*time.Second)
	if err != nil {
		return Result{}, err
	}
	type waited struct {
		Status   string `json:"status"`
		Command  string `json:"command"`
		ExitCode *int   `json:"exit_code,omitempty"`
		Output   string `json:"output"`
		Note     string `json:"timeout_note,omitempty"`
	}
	output := string(j.Result.Output)
	if !j.Running {
		code := exitCodeOf(j)
		return withOutput(success(waited{Status: "exited", Command: j.Script, ExitCode: &code, Output: lastBytes(output, exitPreview)}), j), nil
	}
	note := fmt.Sprintf("Waited %ds; the process is still running", seconds)
	if seconds < a.Timeout {
		note += fmt.Sprintf(". %ds is the longest that one call waits", defaultSeconds)
	}
	return withOutput(success(waited{Status: "timeout", Command: j.Script, Output: lastBytes(output, pollPreview), Note: note}), j), nil
}

func (a processArgs) kill(ctx context.Context, jobs sandbox.Jobs) (Result, error) {
	before, err := jobs.Wait(ctx, a.SessionID, 0)
	if err != nil {
		return Result{}, err
	}
	j, err := jobs.Kill(ctx, a.SessionID)
	if err != nil {
		return Result{}, err
	}
	status := "already_exited"
	if before.Running && j.Result.Killed {
		status = "killed"
	}
	return success(struct {
		Status    string `json:"status"`
		SessionID string `json:"session_id"`
		ExitCode  int    `json:"exit_code"`
	}{status, j.ID, exitCodeOf(j)}), nil
}

// write carries out write, submit and close.
func (a processArgs) write(ctx context.Context, jobs sandbox.Jobs) (Result, error) {
	var data string
	switch {
	case a.Data != nil:
		data = *a.Data
	case a.Action == "write":
		return failure(StatusBadArguments, "bad arguments for process: write needs data"), nil
	}
	if danger := hardline(data); danger != "" && a.Action != "close" {
		return processFailure(StatusBlocked, blocked(danger)), nil
	}
	switch a.Action {
	case "submit":
		data += "\n"
	case "close":
		data = ""
	}
	n, err := jobs.Write(ctx, a.SessionID, []byte(data), a.Action == "close")
	switch {
	case errors.Is(err, sandbox.ErrInput):
		return a.notTaken(ctx, jobs, n, err)
	case err != nil:
		return Result{}, err
	case a.Action == "close":
		return success(struct {
			Status  string `json:"status"`
			Message string `json:"message"`
		}{"ok", "the end of the input was sent"}), nil
	}
	return success(struct {
		Status string `json:"status"`
		Bytes  int    `json:"bytes_written"`
	}{"ok", n}), nil
}

// notTaken tells why a process did not take its input.
func (a processArgs) notTaken(ctx context.Context, jobs sandbox.Jobs, written int, why error) (Result, error) {
	j, err := jobs.Wait(ctx, a.SessionID, 0)
	if err != nil {
		return Result{}, err
	}
	status := "error"
	if !j.Running {
		status = "already_exited"
	}
	return Result{
		Text: encode(struct {
			Status string `json:"status"`
			Error  string `json:"error"`
			Bytes  int    `json:"bytes_written"`
		}{status, why.Error(), written}),
		Status: StatusError,
	}, nil
}

// processFailure is a failure whose status the model sees as well.
func processFailure(status, message string) Result {
	r := Result{
		Text: encode(struct {
			Status string `json:"status"`
			Error  string `json:"error"`
		}{status, message}),
		Status: StatusError,
	}
	if status == StatusBlocked {
		r.Status = StatusBlocked
	}
	return r
}

// lastBytes is the end of a text, at most limit bytes of it, cut at a character.
func lastBytes(text string, limit int) string {
	start := max(0, len(text)-limit)
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	return text[start:]
}
