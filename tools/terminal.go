package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hermes-batch/tools/sandbox"
)

// Limits of a command's time, in seconds.
const (
	defaultSeconds = 180
	maxSeconds     = 600
)

// terminal is the tool of that name.
type terminal struct{}

var _ Supervised = terminal{}

func (terminal) Spec() Spec {
	const silent = "nobody is told what a background process does; look with the process tool, whose action wait waits for its end"
	return Spec{
		Name: "terminal",
		Description: "Runs a shell command and returns its output (stdout and stderr together) and exit code. " +
			"Current folder, exported variables and files stay for the next call. " +
			"With background it returns at once, and the process tool reads the output, writes to the process, waits for it and ends it. " +
			"All processes live until the session ends; one that was left running with & has to write its output to a file.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"command":{"type":"string","description":"Command to run, as typed into bash"},` +
			`"background":{"type":"boolean","description":"Start the command and return its session_id for the process tool: for servers, long work and programs to talk to","default":false},` +
			`"timeout":{"type":"integer","description":"Seconds after which the command is ended; not with background","minimum":1,"maximum":600,"default":180},` +
			`"workdir":{"type":"string","description":"Folder in which this one command runs; the current folder of the session if left out"},` +
			`"pty":{"type":"boolean","description":"Give the command a terminal, for programs that do not work without one","default":false}` +
			`},"required":["command"],"additionalProperties":false}`),
		State: StateSandbox,
		Withheld: map[string]string{
			"notify_on_complete": silent,
			"watch_patterns":     silent,
		},
	}
}

type terminalArgs struct {
	Command    string
	Background bool
	Timeout    int
	Workdir    string
	Pty        bool
}

// command is what the sandbox is to run. A process in the background is not ended by time.
func (a terminalArgs) command(c *Call) sandbox.Command {
	command := sandbox.Command{
		Key:        c.Key,
		Script:     a.Command,
		Shell:      c.Shell,
		Dir:        a.Workdir,
		Background: a.Background,
		Terminal:   a.Pty,
		Head:       outputLimit * headPercent / 100,
		Tail:       outputLimit - outputLimit*headPercent/100,
	}
	if !a.Background {
		command.Timeout = time.Duration(a.Timeout) * time.Second
	}
	return command
}

// terminalResult is the shape of every result of a command, also of one that did not run.
type terminalResult struct {
	Output    string  `json:"output"`
	SessionID string  `json:"session_id,omitempty"`
	PID       int     `json:"pid,omitempty"`
	ExitCode  int     `json:"exit_code"`
	Error     *string `json:"error"`
	Status    string  `json:"status,omitempty"`
	Meaning   string  `json:"exit_code_meaning,omitempty"`
}

// notRun is the result of a command that was not run.
func notRun(status, why string) Result {
	return Result{Text: encode(terminalResult{ExitCode: -1, Error: &why, Status: status}), Status: status}
}

func (t terminal) Call(ctx context.Context, c *Call) (Result, error) {
	args, err := parseTerminalArgs(c)
	if err != nil {
		return Result{}, err
	}
	if danger := hardline(args.Command); danger != "" {
		return notRun(StatusBlocked, blocked(danger)), nil
	}
	if args.Workdir != "" {
		if problem := c.pathProblem(args.Workdir); problem != "" {
			return failure(StatusError, problem), nil
		}
	}
	r, err := c.Sandbox.Exec(ctx, args.command(c))
	switch {
	case errors.Is(err, sandbox.ErrTooManyJobs):
		return notRun(StatusError, fmt.Sprintf("%d background processes are running; end one with the process tool first", sandbox.MaxJobs)), nil
	case err != nil:
		return Result{}, err
	}
	return t.Finish(c, r), nil
}

// blocked tells a model that a command is refused.
func blocked(danger string) string {
	return "BLOCKED: " + danger + " is never run. Do it another way, or leave it out."
}

func parseTerminalArgs(c *Call) (terminalArgs, error) {
	args := terminalArgs{Timeout: defaultSeconds}
	err := json.Unmarshal(c.Args, &args)
	return args, err
}

// Finish makes the result of a call from what its command returned. A non-zero exit is what the
// command said, and a success of the tool.
func (terminal) Finish(c *Call, r sandbox.Result) Result {
	args, err := parseTerminalArgs(c)
	if err != nil {
		return failure(StatusBadArguments, err.Error())
	}
	if r.Job != nil {
		return success(terminalResult{Output: "Background process started", SessionID: r.Job.ID, PID: r.Job.PID})
	}
	shown := terminalResult{Output: string(r.Output), ExitCode: r.ExitCode, Meaning: exitMeaning(args.Command, r.ExitCode)}
	result := Result{Success: true, Status: StatusOK, Dropped: r.Dropped, Full: outputOf(r)}
	if r.TimedOut {
		shown.ExitCode, shown.Meaning = 124, ""
		if shown.Output != "" && !strings.HasSuffix(shown.Output, "\n") {
			shown.Output += "\n"
		}
		shown.Output += fmt.Sprintf("[Command timed out after %ds]", args.Timeout)
		result.Success, result.Status = false, StatusTimeout
	}
	result.Text = encode(shown)
	shell := r.Shell
	if args.Workdir != "" {
		shell.Cwd = c.Shell.Cwd // the folder was for this command alone
	}
	if shell != c.Shell {
		result.Shell = &shell
	}
	return result
}
