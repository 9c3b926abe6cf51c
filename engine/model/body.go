package model

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

const (
	// replyLimit bounds the body of a reply: far above the longest replies of
	// today's models, far below what would hurt.
	replyLimit = 64 << 20
	// errorLimit bounds the body of an error. Some servers answer with the
	// whole request.
	errorLimit = 64 << 10
	// trusted is how much memory is taken at once for a body because its
	// header announces it.
	trusted = 1 << 20
)

// errTooLarge is the fault of a reply above replyLimit.
var errTooLarge = errors.New("the reply is larger than 64 MiB")

// body is the body of a request, in parts that are not copied.
type body struct {
	parts [][]byte
	size  int64
}

func newBody(parts [][]byte) body {
	b := body{parts: parts}
	for _, p := range parts {
		b.size += int64(len(p))
	}
	return b
}

func (b body) open() io.ReadCloser { return &bodyReader{parts: b.parts} }

// bodyReader reads a body once.
type bodyReader struct {
	parts [][]byte
	at    int // in the first part
}

func (r *bodyReader) Read(p []byte) (n int, err error) {
	for n < len(p) && len(r.parts) > 0 {
		m := copy(p[n:], r.parts[0][r.at:])
		n, r.at = n+m, r.at+m
		if r.at == len(r.parts[0]) {
			r.parts, r.at = r.parts[1:], 0
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (r *bodyReader) Close() error { return nil }

// readBody reads a response's body up to its bound. What was read is returned
// with an error, too.
func readBody(res *http.Response) ([]byte, error) {
	limit := int64(errorLimit)
	ok := res.StatusCode/100 == 2
	if ok {
		limit = replyLimit
	}
	var buf bytes.Buffer
	if n := res.ContentLength; n > 0 {
		buf.Grow(int(min(n, trusted)) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(io.LimitReader(res.Body, limit+1))
	raw := buf.Bytes()
	if int64(len(raw)) > limit {
		raw = raw[:limit]
		if ok {
			err = errTooLarge
		}
	}
	return raw, err
}
