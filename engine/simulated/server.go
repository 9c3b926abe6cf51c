package simulated

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"
)

// largestRequest is how many bytes of a request body are read.
const largestRequest = 256 << 20

// Server is the model behind an HTTP interface: POST /v1/chat/completions,
// GET /v1/models and, if it counts, GET /stats. It is safe for concurrent use.
type Server struct {
	options  Options
	mux      *http.ServeMux
	limit    *limiter
	attempts attempts
	counter  *counter // nil: no stats
}

// New returns a server, or ErrOptions.
func New(o Options) (*Server, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &Server{options: o, mux: http.NewServeMux(), limit: &limiter{rate: o.RateLimit, now: time.Now}}
	s.mux.HandleFunc("POST /v1/chat/completions", s.chat)
	s.mux.HandleFunc("GET /v1/models", models)
	if o.Stats {
		s.counter = &counter{seen: map[key]struct{}{}}
		s.mux.HandleFunc("GET /stats", s.showStats)
	}
	return s, nil
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Stats returns the counts so far; all zero unless Options.Stats is set.
func (s *Server) Stats() (now Stats) {
	s.counter.count(func(st *Stats) { now = *st })
	return now
}

func (s *Server) showStats(w http.ResponseWriter, _ *http.Request) {
	send(w, http.StatusOK, encode(s.Stats()))
}

func models(w http.ResponseWriter, _ *http.Request) {
	type model struct {
		ID            string `json:"id"`
		Object        string `json:"object"`
		Created       int64  `json:"created"`
		OwnedBy       string `json:"owned_by"`
		ContextLength int    `json:"context_length"`
	}
	send(w, http.StatusOK, encode(struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{"list", []model{{Model, "model", 0, "hermes-batch", 128 << 10}}}))
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	req, err := readRequest(w, r)
	if err != nil {
		s.counter.count(func(st *Stats) { st.BadRequests++ })
		sendError(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	s.counter.arrive()
	defer s.counter.leave()
	if wait := s.limit.take(); wait > 0 {
		s.counter.count(func(st *Stats) { st.RateLimited++ })
		tell(w.Header(), wait)
		sendError(w, http.StatusTooManyRequests, "rate_limit_error", "too many requests")
		return
	}
	s.answer(r.Context(), w, req)
}

func readRequest(w http.ResponseWriter, r *http.Request) (*request, error) {
	var b bytes.Buffer
	if n := r.ContentLength; n > 0 && n <= 1<<20 {
		b.Grow(int(n) + bytes.MinRead)
	}
	if _, err := b.ReadFrom(http.MaxBytesReader(w, r.Body, largestRequest)); err != nil {
		return nil, err
	}
	return decodeRequest(b.Bytes())
}

// answer waits out the latency and sends the reply, or what comes in its place.
func (s *Server) answer(ctx context.Context, w http.ResponseWriter, req *request) {
	k, m := req.key(), findMarks(req.prompt)
	jitter := time.Duration(s.options.fraction(k, "jitter", 0) * float64(s.options.Jitter))
	if !sleep(ctx, s.options.Latency+jitter+m.delay()) {
		s.counter.count(func(st *Stats) { st.Left++ })
		return
	}
	tried := s.attempts.count(k)
	if s.fails(w, k, m, tried) {
		return
	}
	if m.has("empty") || m.has("empty-first") && req.turn == 0 && tried == 0 {
		s.attempts.fail(k)
		s.counter.count(func(st *Stats) { st.Empty++ })
		s.deliver(w, req, k, move{})
		return
	}
	s.attempts.answered(k)
	s.counter.answered(k)
	s.deliver(w, req, k, req.reply(k, m))
}

// fails sends an error if the options or a marker want one.
func (s *Server) fails(w http.ResponseWriter, k key, m marks, tried int) bool {
	status := m.status()
	drawn := s.options.draw(k, tried)
	if status == 0 && drawn == noFault {
		return false
	}
	s.attempts.fail(k)
	s.counter.count(func(st *Stats) { st.Failed++ })
	switch {
	case status == http.StatusTooManyRequests:
		tell(w.Header(), time.Second)
		sendError(w, status, "rate_limit_error", "the prompt asked for this status")
	case status != 0:
		sendError(w, status, kindOf(status), "the prompt asked for this status")
	case drawn == reset:
		panic(http.ErrAbortHandler) // the server's way to close a connection without a reply
	default:
		sendError(w, http.StatusInternalServerError, kindOf(http.StatusInternalServerError), "simulated failure")
	}
	return true
}

func kindOf(status int) string {
	if status >= 500 {
		return "server_error"
	}
	return "invalid_request_error"
}

func (s *Server) deliver(w http.ResponseWriter, req *request, k key, m move) {
	c := req.complete(k, m)
	if !req.stream {
		send(w, http.StatusOK, encode(c))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(c.events(req.streamUsage)) // a client that left is not told
}

func send(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that left is not told
}

func sendError(w http.ResponseWriter, status int, kind, text string) {
	type report struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    int    `json:"code"`
	}
	send(w, status, encode(struct {
		Error report `json:"error"`
	}{report{text, kind, status}}))
}

// sleep reports whether the client is still there after d.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
