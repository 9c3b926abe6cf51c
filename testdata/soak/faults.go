package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"
)

// fault is what happens to a reply in the place of its delivery.
type fault struct {
	name   string
	share  int
	reason string // of a prompt that meets it at each try; "" if the reply comes all the same
	bare   bool   // does not need a reply of the model
	do     func(s *spoiler)
}

// spoiler spoils one delivery.
type spoiler struct {
	w      http.ResponseWriter
	r      *http.Request
	reply  reply
	random *rand.Rand
	limit  time.Duration // of a request
	whole  bool          // all of the reply was delivered, though late
}

// faults are all that happens on the wire.
var faults = []fault{
	{"late", 20, "", false, (*spoiler).late},
	{"throttled", 20, "", false, (*spoiler).throttled},
	{"rate limit", 4, "", true, (*spoiler).rateLimit},
	{"surplus bytes", 5, "", false, (*spoiler).surplus},
	{cutCall, 5, "", false, (*spoiler).cutCall},

	{"status 500", 20, "server", true, func(s *spoiler) { s.say(500, `{"error": {"message": "internal", "type": "server_error"}}`) }},
	{"overload", 10, "server", true, (*spoiler).overload},
	{"page 502", 10, "server", true, func(s *spoiler) { s.say(502, page) }},
	{"page 200", 10, "server", true, func(s *spoiler) { s.say(200, page) }},
	{"empty body", 10, "server", true, func(s *spoiler) { s.say(200, "") }},
	{"error in 200", 10, "server", true, func(s *spoiler) { s.say(200, `{"error": {"message": "upstream failed", "code": 502}}`) }},
	{"no choices", 5, "server", true, func(s *spoiler) { s.say(200, `{"id": "x", "choices": []}`) }},
	{"empty reply", 5, "empty_reply", true, func(s *spoiler) {
		s.say(200, `{"choices": [{"message": {"role": "assistant", "content": " \n"}, "finish_reason": "stop"}]}`)
	}},
	{"garbled body", 10, "server", false, (*spoiler).garbledBody},
	{"short length", 5, "server", false, (*spoiler).shortLength},
	{"garbled header", 10, "network", false, func(s *spoiler) { s.send(bytes.Replace(s.reply.raw(), []byte(" 200 "), []byte(" 2\x000 "), 1)) }},
	{"closed", 10, "network", true, func(s *spoiler) { s.send(nil) }},
	{"reset", 20, "network", true, func(s *spoiler) { s.reset(nil) }},
	{"cut in header", 10, "network", false, func(s *spoiler) { s.send(s.reply.raw()[:20]) }},
	{"cut in body", 20, "network", false, func(s *spoiler) { s.send(s.part()) }},
	{"reset in body", 20, "network", false, func(s *spoiler) { s.reset(s.part()) }},
	{"cut between chunks", 5, "network", false, (*spoiler).chunks},
	{"dripping", 2, "timeout", false, (*spoiler).drip},
	{"silence", 2, "timeout", true, (*spoiler).silence},
}

// cutCall is the fault of replies that are asked for three times at most.
const cutCall = "cut call"

const page = "<!doctype html><html><head><title>Bad gateway</title></head><body>try again</body></html>"

func faultNamed(name string) *fault {
	for i := range faults {
		if faults[i].name == name {
			return &faults[i]
		}
	}
	return nil
}

// drawFault draws by the shares.
func drawFault(random *rand.Rand) *fault {
	total := 0
	for _, f := range faults {
		total += f.share
	}
	at := random.IntN(total)
	for i := range faults {
		if at -= faults[i].share; at < 0 {
			return &faults[i]
		}
	}
	panic("shares do not add up")
}

func (s *spoiler) say(status int, body string) {
	s.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	s.w.WriteHeader(status)
	_, _ = s.w.Write([]byte(body)) // a client that left is not told
}

// deliver sends the reply as it is.
func (s *spoiler) deliver() {
	for name, values := range s.reply.header {
		s.w.Header()[name] = values
	}
	s.w.Header().Set("Content-Length", strconv.Itoa(len(s.reply.body)))
	s.w.WriteHeader(s.reply.status)
	_, err := s.w.Write(s.reply.body)
	s.whole = err == nil && s.r.Context().Err() == nil
}

// conn takes the connection over.
func (s *spoiler) conn() *net.TCPConn {
	conn, _, err := s.w.(http.Hijacker).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return conn.(*net.TCPConn)
}

// send writes some bytes and closes the connection.
func (s *spoiler) send(text []byte) {
	conn := s.conn()
	defer conn.Close()
	_, _ = conn.Write(text)
}

func (s *spoiler) reset(text []byte) {
	conn := s.conn()
	defer conn.Close()
	_, _ = conn.Write(text)
	_ = conn.SetLinger(0)
}

// part is the reply up to somewhere in its body.
func (s *spoiler) part() []byte {
	raw, size := s.reply.raw(), len(s.reply.body)
	return raw[:len(raw)-size+s.random.IntN(size)]
}

func (s *spoiler) late() {
	if s.pause(s.limit / 10 * time.Duration(1+s.random.IntN(4))) {
		s.deliver()
	}
}

// throttled sends the reply in pieces with pauses.
func (s *spoiler) throttled() {
	const pieces = 8
	conn := s.conn()
	defer conn.Close()
	raw := s.reply.raw()
	for i := range pieces {
		if _, err := conn.Write(raw[i*len(raw)/pieces : (i+1)*len(raw)/pieces]); err != nil {
			return
		}
		time.Sleep(s.limit / 40)
	}
	s.whole = true
}

// rateLimit tells in one of several ways how long to stay away.
func (s *spoiler) rateLimit() {
	switch h := s.w.Header(); s.random.IntN(8) {
	case 0:
		h.Set("Retry-After", "1")
	case 1:
		h.Set("Retry-After", time.Now().Add(time.Second).UTC().Format(http.TimeFormat))
	default:
		h.Set("Retry-After-Ms", strconv.Itoa(20+s.random.IntN(200)))
	}
	s.say(http.StatusTooManyRequests, `{"error": {"message": "slow down", "code": "rate_limit_exceeded"}}`)
}

func (s *spoiler) overload() {
	s.w.Header().Set("Retry-After-Ms", strconv.Itoa(100+s.random.IntN(400)))
	s.say([]int{http.StatusServiceUnavailable, 529}[s.random.IntN(2)], `{"error": {"message": "overloaded", "type": "overloaded_error"}}`)
}

// surplus sends bytes behind the reply that belong to nothing.
func (s *spoiler) surplus() {
	conn := s.conn()
	defer conn.Close()
	if _, err := conn.Write(s.reply.raw()); err == nil {
		s.whole = true
		time.Sleep(time.Millisecond)
		_, _ = conn.Write([]byte("\r\nHTTP/9.9 who knows\r\n\r\n"))
	}
}

// cutCall sends the reply as one that the token limit cut, within its calls.
func (s *spoiler) cutCall() {
	if !s.reply.calls() {
		s.deliver()
		return
	}
	s.reply.body = bytes.Replace(s.reply.body, []byte(`"finish_reason":"tool_calls"`), []byte(`"finish_reason":"length"`), 1)
	s.deliver()
	s.whole = false
}

// garbledBody puts a byte into the body that makes it no JSON, wherever it is.
func (s *spoiler) garbledBody() {
	s.reply.body = bytes.Clone(s.reply.body)
	s.reply.body[s.random.IntN(len(s.reply.body))] = byte(s.random.IntN(8))
	s.deliver()
	s.whole = false
}

// shortLength sends the beginning of the reply as if it were all.
func (s *spoiler) shortLength() {
	s.reply.body = s.reply.body[:s.random.IntN(len(s.reply.body)/2)]
	s.deliver()
	s.whole = false
}

// chunks ends between two chunks, without the last one.
func (s *spoiler) chunks() {
	half := s.reply.body[:len(s.reply.body)/2]
	s.send(fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(half), half))
}

// drip sends the reply byte by byte, beyond the time limit of a request.
func (s *spoiler) drip() {
	conn := s.conn()
	defer conn.Close()
	raw := s.reply.raw()
	for end := time.Now().Add(s.limit + time.Second); time.Now().Before(end) && len(raw) > 1; raw = raw[1:] {
		if _, err := conn.Write(raw[:1]); err != nil {
			return
		}
		time.Sleep(s.limit / 50)
	}
}

func (s *spoiler) silence() { s.pause(s.limit + time.Second) }

// pause waits, unless the client leaves.
func (s *spoiler) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.r.Context().Done():
		return false
	}
}
