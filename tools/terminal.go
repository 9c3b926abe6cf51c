package tools

import (
	"context"
	"encoding/json"
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
	const later = "commands run in the foreground in this version; end a command with & to leave it running"
	return Spec{
		Name: "terminal",
		Description: "Runs a shell command and returns its output (stdout and stderr together) and exit code. " +
			"Current folder, exported variables and files stay for the next call. " +
			"A process that the command leaves running in the background (&) lives until the session ends; " +
			"send its output to a file to read it later.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"command":{"type":"string","description":"Command to run, as typed into bash"},` +
			`"timeout":{"type":"integer","description":"Seconds after which the command is ended","minimum":1,"maximum":600,"default":180},` +
			`"workdir":{"type":"string","description":"Folder in which this one command runs; the current folder of the session if left out"}` +
			`},"required":["command"],"additionalProperties":false}`),
		State: StateSandbox,
		Withheld: map[string]string{
			"background":         later,
			"notify_on_complete": later,
			"watch_patterns":     later,
			"pty":                "commands have no terminal in this version; run the program in its non-interactive mode",
		},
	}
}

type terminalArgs struct {
	Command string
	Timeout int
	Workdir string
}

// terminalResult is the shape of every result of a command, also of one that did not run.
type terminalResult struct {
	Output   string  `json:"output"`
	ExitCode int     `json:"exit_code"`
	Error    *string `json:"error"`
	Status   string  `json:"status,omitempty"`
	Meaning  string  `json:"exit_code_meaning,omitempty"`
}

func (t terminal) Call(ctx context.Context, c *Call) (Result, error) {
	args, err := parseTerminalArgs(c)
	if err != nil {
		return Result{}, err
	}
	if danger := hardline(args.Command); danger != "" {
		message := "BLOCKED: " + danger + " is never run. Do it another way, or leave it out."
		return Result{
			Text:   encode(terminalResult{ExitCode: -1, Error: &message, Status: StatusBlocked}),
			Status: StatusBlocked,
		}, nil
	}
	if args.Workdir != "" {
		if problem := c.pathProblem(args.Workdir); problem != "" {
			return failure(StatusError, problem), nil
		}
	}
	command := sandbox.Command{
		Key:     c.Key,
		Script:  args.Command,
		Shell:   c.Shell,
		Dir:     args.Workdir,
		Timeout: time.Duration(args.Timeout) * time.Second,
		Head:    outputLimit * headPercent / 100,
		Tail:    outputLimit - outputLimit*headPercent/100,
	}
	r, err := c.Sandbox.Exec(ctx, command)
	if err != nil {
		return Result{}, err
	}
	return t.Finish(c, r), nil
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
	shown := terminalResult{Output: string(r.Output), ExitCode: r.ExitCode, Meaning: exitMeaning(args.Command, r.ExitCode)}
	result := Result{Success: true, Status: StatusOK, Dropped: r.Dropped}
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
