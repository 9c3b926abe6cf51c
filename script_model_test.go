package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hermes-batch/engine/simulated"
)

// endpoint is the embedded model behind a server that remembers what it was
// sent. Scripts have these commands for it:
//
//	model            starts it; $MODEL is its base URL
//	model hold PATTERN  requests that match get no answer until "release"
//	model gone       $MODEL is an address that refuses connections
//	model chatty TEXT   each reply is followed by that text, which belongs to nothing
//	release
//	requests N       it was sent N requests so far
//	await N          waits until it was sent that many
//	[!] sent PATTERN some (no) request's body matches
//	serves NAME      waits until a program that was started serves the model;
//	                 $MODEL and $ADDRESS are then its own
//	ask STATUS URL [FILE]  gets it, or posts the file; the reply is stdout
//	authorized TEXT  every request had this Authorization header
type endpoint struct {
	model http.Handler
	hold  *regexp.Regexp // nil: nothing is held back
	held  chan struct{}  // closed at release
	chat  string         // follows each reply

	mu     sync.Mutex
	bodies [][]byte
	keys   []string
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	e.mu.Lock()
	e.bodies = append(e.bodies, body)
	e.keys = append(e.keys, r.Header.Get("Authorization"))
	e.mu.Unlock()
	if e.hold != nil && e.hold.Match(body) {
		select {
		case <-e.held:
		case <-r.Context().Done():
			return
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if e.chat != "" {
		e.chatter(w, r)
		return
	}
	e.model.ServeHTTP(w, r)
}

// chatter says more than it was asked for.
func (e *endpoint) chatter(w http.ResponseWriter, r *http.Request) {
	reply := httptest.NewRecorder()
	e.model.ServeHTTP(reply, r)
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s%s", reply.Body.Len(), reply.Body, e.chat)
	_, _ = io.Copy(io.Discard, conn) // until the client has had enough
}

// count is how many requests there were; 0 where no endpoint is.
func (e *endpoint) count() int {
	if e == nil {
		return 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.bodies)
}

func cmdModel(ts *testscript.TestScript, neg bool, args []string) {
	embedded, err := simulated.New(simulated.Options{})
	ts.Check(err)
	e := &endpoint{model: embedded, held: make(chan struct{})}
	scriptOf(ts).endpoint = e
	switch {
	case !neg && len(args) == 0:
	case !neg && len(args) == 1 && args[0] == "gone":
		ts.Setenv("MODEL", fmt.Sprintf("http://127.0.0.1:%d/v1", deafPort(ts)))
		return
	case !neg && len(args) == 2 && args[0] == "chatty":
		e.chat = args[1]
	case !neg && len(args) == 2 && args[0] == "hold":
		e.hold = compile(ts, args[1])
	default:
		ts.Fatalf("usage: model [hold PATTERN | gone | chatty TEXT]")
	}
	server := httptest.NewServer(e)
	ts.Defer(func() { e.release(); server.Close() })
	ts.Setenv("MODEL", server.URL+"/v1")
}

// deafPort reserves a port on which nobody listens.
func deafPort(ts *testscript.TestScript) int {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	ts.Check(err)
	ts.Defer(func() { _ = syscall.Close(socket) })
	ts.Check(syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	address, err := syscall.Getsockname(socket)
	ts.Check(err)
	return address.(*syscall.SockaddrInet4).Port
}

func (e *endpoint) release() {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.held:
	default:
		close(e.held)
	}
}

func endpointOf(ts *testscript.TestScript) *endpoint {
	e := scriptOf(ts).endpoint
	if e == nil {
		ts.Fatalf("no model was started")
	}
	return e
}

func cmdRelease(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: release")
	}
	endpointOf(ts).release()
}

func numberOf(ts *testscript.TestScript, neg bool, args []string, usage string) int {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: %s", usage)
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	return n
}

func cmdRequests(ts *testscript.TestScript, neg bool, args []string) {
	want := numberOf(ts, neg, args, "requests N")
	if got := endpointOf(ts).count(); got != want {
		ts.Fatalf("%d requests, expected %d", got, want)
	}
}

func cmdAwait(ts *testscript.TestScript, neg bool, args []string) {
	want := numberOf(ts, neg, args, "await N")
	e := endpointOf(ts)
	for end := time.Now().Add(patience); e.count() < want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("%d requests, waited for %d", e.count(), want)
		}
	}
}

func cmdSent(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] sent PATTERN")
	}
	e, pattern := endpointOf(ts), compile(ts, args[0])
	e.mu.Lock()
	defer e.mu.Unlock()
	if slices.ContainsFunc(e.bodies, pattern.Match) == neg {
		ts.Fatalf("of %d requests: %s", len(e.bodies), bytes.Join(e.bodies, []byte("\n")))
	}
}

func cmdAuthorized(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: authorized TEXT")
	}
	e := endpointOf(ts)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, key := range e.keys {
		if key != args[0] {
			ts.Fatalf("a request had %q", key)
		}
	}
	if len(e.keys) == 0 {
		ts.Fatalf("there was no request")
	}
}

var servedAt = regexp.MustCompile(`at (http://([^/]+)/v1)`)

func cmdServes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serves NAME")
	}
	cmdSays(ts, false, []string{args[0], servedAt.String()})
	at := servedAt.FindStringSubmatch(programOf(ts, args[0]).err.String())
	ts.Setenv("MODEL", at[1])
	ts.Setenv("ADDRESS", at[2])
}

func cmdAsk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: ask STATUS URL [FILE]")
	}
	var resp *http.Response
	var err error
	if len(args) == 2 {
		resp, err = http.Get(args[1])
	} else {
		resp, err = http.Post(args[1], "application/json", strings.NewReader(ts.ReadFile(args[2])))
	}
	ts.Check(err)
	defer resp.Body.Close()
	_, err = io.Copy(ts.Stdout(), resp.Body)
	ts.Check(err)
	if strconv.Itoa(resp.StatusCode) != args[0] {
		ts.Fatalf("status %d, expected %s", resp.StatusCode, args[0])
	}
}

// compile reads a pattern as the commands of testscript do.
func compile(ts *testscript.TestScript, pattern string) *regexp.Regexp {
	compiled, err := regexp.Compile("(?m)" + pattern)
	ts.Check(err)
	return compiled
}

// syncBuffer takes the output of a program that runs.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
