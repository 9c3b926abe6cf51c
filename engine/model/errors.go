package model

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

var (
	// ErrBaseURL is returned when a base URL cannot be used.
	ErrBaseURL = errors.New("bad base_url")
	// ErrNoKey is returned when an endpoint needs a key and none was given.
	ErrNoKey = errors.New("no API key")
	// ErrKey is returned when a key cannot be sent in a header.
	ErrKey = errors.New("bad API key")
)

// Class says whom an error concerns.
type Class int

const (
	// Transient errors may go away by themselves; the tries are used up.
	Transient Class = iota + 1
	// Permanent errors concern this conversation and would come again.
	Permanent
	// Fatal errors concern every request of the run.
	Fatal
)

func (c Class) String() string {
	switch c {
	case Transient:
		return "transient"
	case Permanent:
		return "permanent"
	case Fatal:
		return "fatal"
	}
	return "unknown"
}

// The reasons of an Error.
const (
	ReasonRateLimit     = "rate_limit"      // Transient; Fatal if the told wait is too long
	ReasonServer        = "server"          // Transient
	ReasonNetwork       = "network"         // Transient
	ReasonTimeout       = "timeout"         // Transient
	ReasonEmptyReply    = "empty_reply"     // Transient
	ReasonBadRequest    = "bad_request"     // Permanent
	ReasonModelNotFound = "model_not_found" // Permanent
	ReasonContext       = "context"         // Permanent: the conversation is too long for the model
	ReasonRefusal       = "refusal"         // Permanent: the provider's moderation refused the prompt
	ReasonCutReplies    = "cut_replies"     // Permanent: replies kept ending in the middle of a tool call
	ReasonCredentials   = "credentials"     // Fatal
	ReasonPayment       = "payment"         // Fatal
	ReasonEndpoint      = "endpoint"        // Fatal: nothing that answers like a model is there
)

// Error is why a conversation got no reply.
type Error struct {
	Class    Class
	Reason   string
	Status   int    // HTTP status of the last answer, or the one named in its body; 0 if none
	Message  string // one line of at most 300 characters, without secrets
	Tries    int    // requests sent
	Rejected []Rejected

	cause error
}

func (e *Error) Error() string {
	message := e.Message
	if e.Status != 0 {
		message = fmt.Sprintf("HTTP %d: %s", e.Status, message)
	}
	tries := "try"
	if e.Tries != 1 {
		tries = "tries"
	}
	return fmt.Sprintf("%s: %s (%d %s)", e.Reason, message, e.Tries, tries)
}

// Unwrap returns the error of the transport, if that is what went wrong.
func (e *Error) Unwrap() error { return e.cause }

// Interrupted is returned when the caller's context ends a call. It is no
// failure of the prompt: a request may have been in flight and billed.
type Interrupted struct {
	Tries    int // requests sent
	Rejected []Rejected

	cause error
}

func (e *Interrupted) Error() string { return "model call interrupted: " + e.cause.Error() }

// Unwrap returns the context's error.
func (e *Interrupted) Unwrap() error { return e.cause }

// messageLimit bounds an error message in characters: enough for what providers
// say, short enough for one line of a log and of errors.jsonl.
const messageLimit = 300

// oneLine makes a text fit for a message: one line, no control or formatting
// characters, bounded.
func oneLine(s string) string {
	if len(s) > 16*messageLimit {
		s = s[:16*messageLimit]
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == unicode.ReplacementChar, unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > messageLimit {
		s = string(runes[:messageLimit-1]) + "…"
	}
	return s
}
