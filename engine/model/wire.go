package model

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// go-openai builds the request (URL, credentials, common headers) and calls
// back through its HTTPDoer. There the body is exchanged for the
// conversation's own, and the response is captured before the library sees it:
// its types have no place for OpenRouter's objects, for reasoning under most of
// its names, for response headers or for replies that are slightly off. The
// library is given a request that none of its local checks refuses, and an
// empty object in place of a reply.

// placeholder is the model's name in the request that the library encodes and
// that is never sent.
const placeholder = "-"

// exchange is one request and what came back.
type exchange struct {
	body body

	status  int // 0: no response
	header  http.Header
	raw     []byte // the response's body, bounded
	readErr error  // why raw is not whole
	err     error  // why there is no response

	timedOut bool // the time limit of one request was reached

	// Set by the transport's goroutines, maybe after the request was given up.
	reused atomic.Bool // the connection had served a request before
	began  atomic.Bool // the response's first byte arrived
}

type exchangeKey struct{}

// do sends the request within a time limit. What came of it is in the exchange.
func (ex *exchange) do(parent context.Context, api *openai.Client, limit time.Duration) {
	ctx, cancel := context.WithTimeout(parent, limit)
	defer cancel()
	ctx = context.WithValue(ctx, exchangeKey{}, ex)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:              func(info httptrace.GotConnInfo) { ex.reused.Store(info.Reused) },
		GotFirstResponseByte: func() { ex.began.Store(true) },
	})
	_, err := api.CreateChatCompletion(ctx, openai.ChatCompletionRequest{Model: placeholder})
	ex.timedOut = ctx.Err() != nil && parent.Err() == nil
	if ex.status == 0 {
		ex.err = err
		if err == nil {
			ex.err = errors.New("no request was sent")
		}
	}
}

// mask takes secrets out of the body before anything is cut off it, so that no
// part of one is left.
func (ex *exchange) mask(mask func(string) string) {
	if masked := mask(string(ex.raw)); masked != string(ex.raw) {
		ex.raw = []byte(masked)
	}
	if errors.Is(ex.readErr, errTooLarge) {
		ex.raw = bytes.Clone(ex.raw[:min(len(ex.raw), errorLimit)])
	}
}

// doer is the HTTP client under the library.
type doer struct {
	http      *http.Client
	userAgent string
	title     bool // name the program, as OpenRouter likes it
}

func (d *doer) Do(req *http.Request) (*http.Response, error) {
	ex := req.Context().Value(exchangeKey{}).(*exchange)
	req.Body, req.ContentLength = ex.body.open(), ex.body.size
	req.GetBody = func() (io.ReadCloser, error) { return ex.body.open(), nil }
	req.Header.Set("User-Agent", d.userAgent)
	if d.title {
		req.Header.Set("X-Title", "hermes-batch")
	}
	res, err := d.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	ex.header = res.Header
	ex.raw, ex.readErr = readBody(res)
	ex.status = res.StatusCode
	return stub(res), nil
}

// stub is what the library gets to see of a response.
func stub(res *http.Response) *http.Response {
	return &http.Response{
		Status: res.Status, StatusCode: res.StatusCode, Header: res.Header,
		Body: io.NopCloser(strings.NewReader("{}")),
	}
}

func newWire(e Endpoint, key string, d *doer) *openai.Client {
	config := openai.DefaultConfig(key)
	config.BaseURL = e.URL
	config.HTTPClient = d
	return openai.NewClientWithConfig(config)
}
