package model

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

const goodReply = `{"id":"r","model":"m","choices":[{"message":{"content":"42"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`

// answer is what a scripted server does with one request.
type answer struct {
	status  int // 0: 200
	headers []string
	body    string
	do      http.HandlerFunc // instead of all that
}

func good() answer { return answer{body: goodReply} }

// script is a server that answers request by request; the last answer repeats.
type script struct {
	*httptest.Server
	mu       sync.Mutex
	answers  []answer
	requests []string
	headers  []http.Header
}

func newScript(t *testing.T, answers ...answer) *script {
	s := &script{answers: answers}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	a := s.answers[min(len(s.requests), len(s.answers)-1)]
	s.requests = append(s.requests, string(body))
	s.headers = append(s.headers, r.Header)
	s.mu.Unlock()
	if a.do != nil {
		a.do(w, r)
		return
	}
	for _, line := range a.headers {
		name, value, _ := strings.Cut(line, ": ")
		w.Header().Set(name, value)
	}
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
	io.WriteString(w, a.body)
}

func (s *script) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// testClock is time that passes only by sleeping.
type testClock struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Microsecond) // no two moments are the same
	return c.now
}

func (c *testClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d > 0 {
		c.now = c.now.Add(d)
		c.slept = append(c.slept, d.Round(time.Millisecond))
	}
	return ctx.Err()
}

func (c *testClock) total() (sum time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.slept {
		sum += d
	}
	return sum
}

// connect makes a client of a server, with its own clock and no jitter.
func connect(t *testing.T, url string, change ...func(*Options)) (*Client, *testClock) {
	t.Helper()
	clock := &testClock{now: testNow}
	e, err := Resolve(url + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Endpoint: e, Workers: 4, Now: clock.Now, Sleep: clock.Sleep, Random: func() float64 { return 0 }}
	for _, f := range change {
		f(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, clock
}

func prompt(change ...func(*Params)) *Conversation {
	p := Params{Model: "m"}
	for _, f := range change {
		f(&p)
	}
	return NewConversation(p, "what is 6 times 7?")
}

// hijack takes the connection of a request over.
func hijack(w http.ResponseWriter, send string) {
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	fmt.Fprint(buf, send)
	buf.Flush()
	conn.Close()
}

func cutAnswer(w http.ResponseWriter, _ *http.Request) {
	hijack(w, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"+goodReply[:40])
}

func dropAnswer(w http.ResponseWriter, _ *http.Request) { hijack(w, "") }

// hangAnswer never answers.
func hangAnswer(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// dripAnswer sends a byte now and then.
func dripAnswer(w http.ResponseWriter, r *http.Request) {
	for i := range len(goodReply) {
		io.WriteString(w, goodReply[i:i+1])
		http.NewResponseController(w).Flush()
		if sleep(r.Context(), 20*time.Millisecond) != nil {
			return
		}
	}
}
