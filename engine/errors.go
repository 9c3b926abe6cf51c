package engine

import (
	"errors"
	"fmt"
	"strings"
)

// ErrUsage is wrapped by every error that the user can mend on the command
// line or in an input file. Nothing was sent and nothing already done is lost.
var ErrUsage = errors.New("usage")

// ErrStopped is wrapped by the error of a run that ended early although nobody
// interrupted it: refused credentials, a full disk, an endpoint that is down.
// Unfinished prompts stay pending.
var ErrStopped = errors.New("stopped early")

// ErrInterrupted is returned when the caller's context was cancelled; the
// prompts in flight were stopped in order.
var ErrInterrupted = errors.New("interrupted")

// usageError says what is wrong with the user's input, and where.
type usageError struct{ text string }

func (e *usageError) Error() string        { return e.text }
func (e *usageError) Is(target error) bool { return target == ErrUsage }

// Usagef makes an error that satisfies errors.Is(err, ErrUsage).
func Usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// stopError carries the reason of an early stop.
type stopError struct {
	reason string // one word for the store and the log
	err    error
}

func (e *stopError) Error() string        { return e.err.Error() }
func (e *stopError) Unwrap() error        { return e.err }
func (e *stopError) Is(target error) bool { return target == ErrStopped }

// advisedError is an error with a line that says what the user can do about it.
type advisedError struct {
	err    error
	advice string
}

func (e *advisedError) Error() string { return e.err.Error() + "\n" + e.advice }
func (e *advisedError) Unwrap() error { return e.err }

// brief is an error in one line, without advice: for the store, and for who
// looks at it later.
func brief(err error) string {
	text := err.Error()
	var advised *advisedError
	if errors.As(err, &advised) {
		text = strings.Replace(text, "\n"+advised.advice, "", 1)
	}
	return strings.ReplaceAll(text, "\n", "; ")
}
