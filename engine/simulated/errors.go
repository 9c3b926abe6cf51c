package simulated

import "errors"

var (
	// ErrOptions is returned by New when an option is out of its range.
	ErrOptions = errors.New("bad option of the simulated model")

	// ErrReset is returned by the in-process transport when the handler breaks
	// the connection off, as a server does with http.ErrAbortHandler.
	ErrReset = errors.New("connection reset by the simulated model")

	errNoMessages = errors.New("messages: at least one is needed")
)
