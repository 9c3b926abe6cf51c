package ctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// serve answers one caller. Every way out sends an ending, unless the caller
// is gone.
func (s *Server) serve(conn *net.UnixConn) {
	defer conn.Close()
	out := &frames{conn: conn, patience: s.limits.reading}
	if !s.admit(conn) {
		out.end(ending{Code: 1, Reason: reasonBusy})
		return
	}
	defer s.dismiss(conn)

	if err := checkPeer(conn); err != nil {
		s.log.Warn("question to the run refused", keyError, err)
		out.end(ending{Code: 1, Reason: reasonRefused})
		return
	}
	conn.SetReadDeadline(time.Now().Add(s.limits.asking))
	req, err := readRequest(conn)
	if err != nil {
		out.end(ending{Code: 1, Reason: reasonGarbled, Error: err.Error()})
		return
	}
	conn.SetReadDeadline(time.Time{})
	s.log.Debug("question to the run", keyVerb, req.Verb)
	if out.send(frameBegun, nil) == nil {
		out.end(s.answer(conn, req, out))
	}
}

// answer runs the verb and makes the ending of how it went.
func (s *Server) answer(conn *net.UnixConn, req request, out *frames) ending {
	verb, ok := s.verbs[req.Verb]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(s.verbs)), ", ")
		return ending{Code: 2, Error: fmt.Sprintf("a run in progress does not answer %q; it answers %s", req.Verb, known)}
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	go func() { // a caller sends nothing more; when it hangs up, nobody needs the answer
		conn.Read(make([]byte, 1))
		cancel()
	}()
	err := s.call(ctx, verb, req, out)
	var coded interface{ ExitCode() int }
	switch {
	case err == nil:
		return ending{}
	case s.ctx.Err() != nil && errors.Is(err, context.Canceled):
		return ending{Code: 1, Reason: reasonClosing}
	case errors.As(err, &coded) && coded.ExitCode() != 0:
		return ending{Code: coded.ExitCode(), Error: err.Error()}
	}
	return ending{Code: 1, Error: err.Error()}
}

// call keeps a panic in a verb from the run.
func (s *Server) call(ctx context.Context, verb Verb, req request, out *frames) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("question to the run panicked", keyVerb, req.Verb, keyError, p, "stack", string(debug.Stack()))
			err = fmt.Errorf("%s: internal error: %v", req.Verb, p)
		}
	}()
	return verb(ctx, s.store, req.Args, out)
}

// frames writes output to a caller that must take each frame in time.
type frames struct {
	conn     *net.UnixConn
	patience time.Duration
	err      error // the first failure; nothing is written after it
	buf      []byte
}

// Write sends p as output.
func (f *frames) Write(p []byte) (int, error) {
	for chunk := range slices.Chunk(p, largestFrame) {
		if err := f.send(frameOutput, chunk); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// end sends how it went; there is nobody to tell if that fails.
func (f *frames) end(e ending) {
	e.Error = clip(e.Error)
	payload, err := json.Marshal(e)
	if err == nil {
		f.send(frameEnd, payload)
	}
}

func (f *frames) send(kind byte, payload []byte) error {
	if f.err != nil {
		return f.err
	}
	f.buf = appendFrame(f.buf[:0], kind, payload)
	f.conn.SetWriteDeadline(time.Now().Add(f.patience))
	if _, err := f.conn.Write(f.buf); err != nil {
		f.err = fmt.Errorf("caller: %w", err)
	}
	return f.err
}

// longestError keeps an ending within a frame, however it is escaped.
const longestError = 8 << 10

func clip(text string) string {
	if len(text) <= longestError {
		return text
	}
	return strings.ToValidUTF8(text[:longestError], "") + " …"
}
