package ctl

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Bounds of the protocol, in bytes.
const (
	largestRequest = 1 << 20  // a line with its line break
	largestFrame   = 64 << 10 // payload; longer output is cut into frames
)

const (
	frameBegun  = 'b' // the request was read; now the verb runs
	frameOutput = 'o'
	frameEnd    = 'e'
)

// request is what a caller asks.
type request struct {
	Verb string   `json:"verb"`
	Args []string `json:"args"`
}

// ending is how an answer ends.
type ending struct {
	Code   int    `json:"code"` // exit code; 0: all went well
	Error  string `json:"error,omitempty"`
	Reason string `json:"reason,omitempty"` // why no verb answered
}

// Reasons of an ending that is not the verb's own.
const (
	reasonBusy    = "busy"
	reasonRefused = "refused"
	reasonClosing = "closing"
	reasonGarbled = "garbled"
)

// err is the ending as the caller's error.
func (e ending) err() error {
	switch e.Reason {
	case reasonBusy:
		return fmt.Errorf("%w: too many callers", ErrBusy)
	case reasonRefused:
		return ErrRefused
	case reasonClosing:
		return ErrCut
	case reasonGarbled:
		return fmt.Errorf("request: %w: %s", ErrGarbled, e.Error)
	}
	if e.Code == 0 && e.Error == "" {
		return nil
	}
	return &Failure{Code: e.Code, Message: e.Error}
}

func encodeRequest(r request) ([]byte, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if len(line)+1 > largestRequest {
		return nil, fmt.Errorf("request of %d bytes: %w: at most %d", len(line)+1, ErrGarbled, largestRequest)
	}
	return append(line, '\n'), nil
}

func readRequest(r io.Reader) (request, error) {
	line, err := bufio.NewReader(io.LimitReader(r, largestRequest)).ReadBytes('\n')
	if err != nil {
		return request{}, fmt.Errorf("%w: no whole line: %w", ErrGarbled, err)
	}
	var req request
	if err := json.Unmarshal(line, &req); err != nil {
		return request{}, fmt.Errorf("%w: %w", ErrGarbled, err)
	}
	return req, nil
}

// appendFrame appends one frame to b; the payload must not be too large.
func appendFrame(b []byte, kind byte, payload []byte) []byte {
	b = append(b, kind)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	return append(b, payload...)
}

// readFrame reads one frame into buf, which grows as needed. ErrCut is
// returned if r ends.
func readFrame(r io.Reader, buf *bytes.Buffer) (kind byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, cut(err)
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > largestFrame {
		return 0, fmt.Errorf("answer: %w: a frame of %d bytes", ErrGarbled, n)
	}
	buf.Reset()
	if _, err := io.CopyN(buf, r, int64(n)); err != nil {
		return 0, cut(err)
	}
	return head[0], nil
}

// cut keeps time limits apart from a connection that ended.
func cut(err error) error {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return err
	}
	return fmt.Errorf("%w (%v)", ErrCut, err)
}
