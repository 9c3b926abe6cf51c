package ctl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"
)

// answerTime is how long a caller waits for the run to take its request; what
// the verb takes after that has no limit but the caller's context.
const answerTime = 10 * time.Second

// Call asks the run that listens at socket and writes its output to w as it
// comes. The error of the verb is a *Failure. Otherwise it is ErrNobody,
// ErrBusy, ErrRefused, ErrCut or ErrGarbled, what w returned, or the cause of
// ctx, and w may hold a part of the answer.
func Call(ctx context.Context, socket, verb string, args []string, w io.Writer) error {
	return call(ctx, socket, request{verb, args}, w, answerTime)
}

func call(ctx context.Context, socket string, r request, w io.Writer, wait time.Duration) error {
	line, err := encodeRequest(r)
	if err != nil {
		return err
	}
	conn, err := dial(ctx, socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	err = exchange(conn, line, w, wait)
	if ctx.Err() != nil && err != nil {
		return context.Cause(ctx)
	}
	return err
}

func dial(ctx context.Context, socket string) (net.Conn, error) {
	if socket == "" {
		return nil, ErrNobody
	}
	conn, err := (&net.Dialer{Timeout: answerTime}).DialContext(ctx, "unix", socket)
	switch {
	case err == nil && os.Geteuid() != 0: // root may ask anybody's run
		if refused := checkPeer(conn.(*net.UnixConn)); refused != nil {
			return nil, errors.Join(refused, conn.Close())
		}
		return conn, nil
	case err == nil:
		return conn, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOTDIR):
		return nil, ErrNobody
	case errors.Is(err, fs.ErrPermission):
		return nil, ErrRefused
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, os.ErrDeadlineExceeded):
		return nil, ErrBusy
	}
	return nil, fmt.Errorf("reach the run: %w", err)
}

// exchange sends the request and passes the answer on to w. The run has to
// begin within wait.
func exchange(conn net.Conn, line []byte, w io.Writer, wait time.Duration) error {
	conn.SetDeadline(time.Now().Add(wait))
	conn.Write(line) // may fail, as a run that refuses does not read; its answer says why
	err := receive(conn, w, func() { conn.SetDeadline(time.Time{}) })
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ErrBusy
	}
	return err
}

// receive reads an answer and writes its output to w; it calls begun when the
// verb runs.
func receive(r io.Reader, w io.Writer, begun func()) error {
	var buf bytes.Buffer
	kind, err := readFrame(r, &buf)
	if errors.Is(err, ErrCut) {
		return ErrNobody
	}
	if err == nil && kind == frameBegun {
		begun()
		kind, err = readFrame(r, &buf)
	}
	for ; err == nil && kind == frameOutput; kind, err = readFrame(r, &buf) {
		if _, err := w.Write(buf.Bytes()); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
	}
	if err != nil {
		return err
	}
	return readEnding(kind, buf.Bytes())
}

func readEnding(kind byte, payload []byte) error {
	var end ending
	if kind != frameEnd {
		return fmt.Errorf("answer: %w: a frame of kind %q", ErrGarbled, kind)
	}
	if err := json.Unmarshal(payload, &end); err != nil {
		return fmt.Errorf("answer: %w: %w", ErrGarbled, err)
	}
	return end.err()
}
