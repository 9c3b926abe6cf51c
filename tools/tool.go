package tools

import (
	"context"
	"encoding/json"
	"fmt"

	"hermes-batch/tools/sandbox"
)

// State says where what a tool changes lives, and so what has to survive for a session to go on.
type State int

const (
	StateNone    State = iota // nowhere: a call depends on its arguments only
	StateSandbox              // in the sandbox: files and commands
	StateProgram              // in this program: it is gone after a restart
)

// Spec describes a tool. Name, Description and Parameters are what the model sees.
type Spec struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of an object
	State       State
	ReadOnly    bool // changes nothing: may run beside other such calls, and may be repeated

	// Repeatable tells of the calls of a tool that is not ReadOnly which may be repeated, since
	// they change nothing. They keep their place among other calls. nil is none.
	Repeatable func(args json.RawMessage) bool

	// Withheld are parameters that users of similar tools know and this one does not have:
	// name → what a model is told that asks for it. A value that asks for nothing (false, null,
	// empty) is let through.
	Withheld map[string]string
}

// Tool is something that a model can call. A result that reports an error is a Result; an error
// means that the sandbox or the program is broken.
type Tool interface {
	Spec() Spec
	Call(ctx context.Context, c *Call) (Result, error)
}

// Supervised is a Tool whose effect is one command of the sandbox under the call's key, so that
// its result can be had after this program died.
type Supervised interface {
	Tool
	// Finish makes the Result of a call from what its command returned.
	Finish(c *Call, r sandbox.Result) Result
}

// Call is one call of a tool.
type Call struct {
	Args    json.RawMessage // a JSON object; Run hands it to the tool checked
	Key     string          // unique in the session, the same after a restart
	Sandbox sandbox.Sandbox // may be nil for tools without state
	Shell   sandbox.Shell   // the session's shell state before the call
}

// Run checks the arguments against the tool's schema, marks the call as begun where nobody else
// does, calls the tool and makes of its result what the model is shown. It does not recover panics.
func Run(ctx context.Context, t Tool, c *Call) (Result, error) {
	spec := t.Spec()
	args, problem := checkArguments(spec, c.Args)
	if problem != "" {
		return failure(StatusBadArguments, problem), nil
	}
	if changesUnseen(t, args) {
		if err := c.Sandbox.Begin(c.Key); err != nil {
			return Result{}, fmt.Errorf("begin %s: %w", spec.Name, err)
		}
	}
	checked := *c
	checked.Args = args
	r, err := t.Call(ctx, &checked)
	if err == nil {
		r, err = checked.finish(r)
	}
	if err != nil {
		return Result{}, fmt.Errorf("run %s: %w", spec.Name, err)
	}
	return r, nil
}

// Recall tells what became of a call that an earlier life of this program may have begun. On
// sandbox.CallNever it is to be run; on CallDone the Result is the call's; on CallLost it began
// and nobody knows how it ended. Calls that may be repeated freely count as never begun.
func Recall(ctx context.Context, t Tool, c *Call) (Result, sandbox.CallState, error) {
	spec := t.Spec()
	args, problem := checkArguments(spec, c.Args)
	supervised, ok := t.(Supervised)
	if problem != "" || !ok && !changesUnseen(t, args) {
		return Result{}, sandbox.CallNever, nil
	}
	r, state, err := c.Sandbox.Recall(ctx, c.Key)
	switch {
	case err != nil:
		return Result{}, state, fmt.Errorf("recall %s: %w", spec.Name, err)
	case state != sandbox.CallDone:
		return Result{}, state, nil
	case !ok:
		return Result{}, sandbox.CallLost, nil
	}
	checked := *c
	checked.Args = args
	result, err := checked.finish(supervised.Finish(&checked, r))
	if err != nil {
		return Result{}, state, fmt.Errorf("recall %s: %w", spec.Name, err)
	}
	return result, state, nil
}

// changesUnseen says that a call changes the sandbox without a supervisor that would know of it.
func changesUnseen(t Tool, args json.RawMessage) bool {
	spec := t.Spec()
	_, supervised := t.(Supervised)
	return spec.State == StateSandbox && !spec.ReadOnly && !supervised &&
		(spec.Repeatable == nil || !spec.Repeatable(args))
}
