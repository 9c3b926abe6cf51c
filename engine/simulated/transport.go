package simulated

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// Transport serves requests by calling the handler, without a socket. The
// handler runs in the goroutine of the caller and must return when the
// request's context ends, as a Server does; the body is held in memory. It is
// safe for concurrent use if the handler is. A handler that aborts gives
// ErrReset; any other panic goes on to the caller.
func Transport(h http.Handler) http.RoundTripper { return transport{h} }

type transport struct{ handler http.Handler }

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	if err := context.Cause(req.Context()); err != nil {
		return nil, err
	}
	w := &response{header: http.Header{}}
	if err := w.serve(t.handler, arriving(req)); err != nil {
		return nil, err
	}
	if err := context.Cause(req.Context()); err != nil {
		return nil, err
	}
	return w.result(req), nil
}

// arriving is a request as a server sees it.
func arriving(req *http.Request) *http.Request {
	r := req.WithContext(req.Context())
	r.RequestURI = req.URL.RequestURI()
	if r.Host == "" {
		r.Host = req.URL.Host
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	return r
}

// response keeps what a handler writes.
type response struct {
	header http.Header
	status int
	sent   http.Header // the header when the status was written
	body   bytes.Buffer
}

func (w *response) serve(h http.Handler, r *http.Request) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			err = ErrReset
		default:
			panic(p)
		}
	}()
	h.ServeHTTP(w, r)
	return nil
}

func (w *response) Header() http.Header { return w.header }

func (w *response) WriteHeader(status int) {
	if w.status == 0 {
		w.status, w.sent = status, w.header.Clone()
	}
}

func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

func (w *response) result(req *http.Request) *http.Response {
	w.WriteHeader(http.StatusOK)
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)),
		StatusCode:    w.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        w.sent,
		Body:          io.NopCloser(bytes.NewReader(w.body.Bytes())),
		ContentLength: int64(w.body.Len()),
		Request:       req,
	}
}
