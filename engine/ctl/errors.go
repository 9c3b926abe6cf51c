package ctl

import "errors"

var (
	// ErrNobody is returned when nobody listens at the socket: the run has ended, or died.
	ErrNobody = errors.New("the run does not listen any more")

	// ErrBusy is returned when the run has too many callers, or is alive but stopped and does not answer.
	ErrBusy = errors.New("the run does not answer now")

	// ErrRefused is returned when the run belongs to another user.
	ErrRefused = errors.New("the run belongs to another user")

	// ErrCut is returned when the run ended before its answer was complete.
	ErrCut = errors.New("the run ended before its answer was complete")

	// ErrGarbled is returned when what answers does not speak this protocol, or the request cannot be read.
	ErrGarbled = errors.New("not understood")
)

// A Failure is the error of a verb as its caller gets it: the text, and the
// exit code that the error asked for with a method ExitCode() int, else 1.
type Failure struct {
	Code    int
	Message string
}

// Error returns the message.
func (f *Failure) Error() string { return f.Message }

// ExitCode returns the code.
func (f *Failure) ExitCode() int { return f.Code }
