package model

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestEndpointThatIsDown(t *testing.T) {
	s := newScript(t, good())
	c, _ := connect(t, s.URL)
	other, clock := connect(t, s.URL)
	if _, err := c.Complete(t.Context(), prompt(), nil); err != nil {
		t.Fatal(err)
	}
	s.Close()
	_, err := other.Complete(t.Context(), prompt(), nil)
	e := wantError(t, err, Fatal, ReasonEndpoint, 1)
	if !strings.Contains(e.Message, s.URL+"/v1") || !strings.Contains(e.Message, "refused") || clock.total() != 0 {
		t.Errorf("got %v", e)
	}
	_, err = c.Complete(t.Context(), prompt(), nil)
	var late *Error
	if !errors.As(err, &late) || late.Class != Transient || late.Reason != ReasonNetwork {
		t.Errorf("after a success: %v", err)
	}
}

func TestEndpointWithoutAHost(t *testing.T) {
	refuse := &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "nowhere", IsNotFound: true}}
	c, _ := connect(t, "https://nowhere.example", func(o *Options) {
		o.Transport = roundTripper(func(*http.Request) (*http.Response, error) { return nil, refuse })
	})
	_, err := c.Complete(t.Context(), prompt(), nil)
	wantError(t, err, Fatal, ReasonEndpoint, 1)
	if !errors.As(err, new(*net.DNSError)) {
		t.Error("the cause is lost")
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestEndpointWithAnUnknownCertificate(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	defer s.Close()
	c, _ := connect(t, s.URL)
	_, err := c.Complete(t.Context(), prompt(), nil)
	wantError(t, err, Fatal, ReasonEndpoint, 1)
}

func TestWebPageInPlaceOfAnEndpoint(t *testing.T) {
	page := answer{body: "<html><title>Welcome</title></html>"}
	s := newScript(t, page)
	c, _ := connect(t, s.URL)
	_, err := c.Complete(t.Context(), prompt(), nil)
	e := wantError(t, err, Fatal, ReasonEndpoint, maxTries)
	if !strings.HasPrefix(e.Message, "no model answers at http://") || !strings.Contains(e.Message, "Welcome") {
		t.Errorf("got %v", e)
	}
	s = newScript(t, good(), page)
	c, _ = connect(t, s.URL)
	c.Complete(t.Context(), prompt(), nil)
	_, err = c.Complete(t.Context(), prompt(), nil)
	wantError(t, err, Transient, ReasonServer, maxTries)
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := newScript(t, good())
	for _, status := range []int{301, 302, 307, 308} {
		s := newScript(t, answer{status: status, headers: []string{"Location: " + elsewhere.URL + "/v1/chat/completions"}})
		c, _ := connect(t, s.URL, func(o *Options) { o.Key = "sk-12345678" })
		_, err := c.Complete(t.Context(), prompt(), nil)
		e := wantError(t, err, Fatal, ReasonEndpoint, 1)
		if !strings.Contains(e.Message, elsewhere.URL) {
			t.Errorf("got %v", e)
		}
	}
	if elsewhere.count() != 0 {
		t.Errorf("%d requests arrived elsewhere", elsewhere.count())
	}
}

func TestBodiesAreBounded(t *testing.T) {
	flood := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			chunk := bytes.Repeat([]byte(" "), 1<<20)
			for range n {
				w.Write(chunk)
			}
		}
	}
	s := newScript(t, answer{do: flood(replyLimit>>20 + 1)}, good())
	c, _ := connect(t, s.URL)
	r, err := c.Complete(t.Context(), prompt(), nil)
	if err != nil || r.Tries != 2 || r.Rejected[0].Why != whyTooLarge || len(r.Rejected[0].Raw) != errorLimit {
		t.Errorf("got %v, %v", r, err)
	}
	s = newScript(t, answer{do: func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(400)
		io.WriteString(w, `{"error":{"message":"`+strings.Repeat("a\\n\\u001b", 100_000))
		flood(8)(w, r)
	}})
	c, _ = connect(t, s.URL)
	_, err = c.Complete(t.Context(), prompt(), nil)
	e := wantError(t, err, Permanent, ReasonBadRequest, 1)
	if n := len([]rune(e.Message)); n > messageLimit || strings.ContainsAny(e.Error(), "\n\x1b") {
		t.Errorf("a message of %d characters: %v", n, e)
	}
}

// Ten gigabytes of zeros in ten megabytes are read no further than a reply may
// be long.
func TestCompressedBodiesAreBounded(t *testing.T) {
	var member bytes.Buffer
	z := gzip.NewWriter(&member)
	z.Write(make([]byte, 1<<20))
	z.Close()
	bomb := func(status int) answer {
		return answer{do: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(status)
			for range 10_000 {
				if _, err := w.Write(member.Bytes()); err != nil {
					return
				}
			}
			t.Error("all of it was read")
		}}
	}
	s := newScript(t, bomb(200), bomb(503), good())
	c, _ := connect(t, s.URL)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := c.Complete(t.Context(), prompt(), nil)
	runtime.ReadMemStats(&after)
	if err != nil || r.Tries != 3 || len(r.Rejected) != 1 || r.Rejected[0].Why != whyTooLarge || len(r.Rejected[0].Raw) != errorLimit {
		t.Errorf("got %v, %v", r, err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 16*replyLimit {
		t.Errorf("it took %d bytes of memory", took)
	}
}

// A server that closes an idle connection just when a request is sent on it did
// not refuse that request.
func TestIdleConnectionThatDies(t *testing.T) {
	s := newScript(t, good(), answer{do: dropAnswer}, good(), answer{do: dropAnswer})
	c, clock := connect(t, s.URL)
	if _, err := c.Complete(t.Context(), prompt(), nil); err != nil {
		t.Fatal(err)
	}
	r, err := c.Complete(t.Context(), prompt(), nil)
	if err != nil || r.Tries != 2 || clock.total() != 0 {
		t.Fatalf("got %+v, %v, slept %v", r, err, clock.slept)
	}
	_, err = c.Complete(t.Context(), prompt(), nil)
	wantError(t, err, Transient, ReasonNetwork, maxTries+1)
	if len(clock.slept) != maxTries-1 {
		t.Errorf("slept %v", clock.slept)
	}
}

// The same with a real server that closes idle connections about when the next
// request comes.
func TestShortIdleTimeouts(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, goodReply)
	}))
	s.Config.IdleTimeout = 10 * time.Millisecond
	s.Start()
	defer s.Close()
	c, _ := connect(t, s.URL)
	inParallel(8, func(i int) {
		for n := range 40 {
			if _, err := c.Complete(t.Context(), prompt(), nil); err != nil {
				t.Error(err)
			}
			time.Sleep(10*time.Millisecond + time.Duration(n*i)*2*time.Microsecond)
		}
	})
}

func TestHTTP2(t *testing.T) {
	var proto atomic.Value
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proto.Store(r.Proto)
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, goodReply)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	c, _ := connect(t, s.URL, func(o *Options) {
		rt := newTransport(4, true)
		rt.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		o.Transport = rt
	})
	inParallel(20, func(int) {
		if _, err := c.Complete(t.Context(), prompt(), nil); err != nil {
			t.Error(err)
		}
	})
	if got := proto.Load(); got != "HTTP/2.0" {
		t.Errorf("got %v", got)
	}
}

func TestIdleConnectionsAreKept(t *testing.T) {
	const workers = 48
	var opened atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		time.Sleep(2 * time.Millisecond)
		io.WriteString(w, goodReply)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	c, _ := connect(t, s.URL, func(o *Options) { o.Workers = workers })
	inParallel(workers, func(int) {
		for range 10 {
			if _, err := c.Complete(t.Context(), prompt(), nil); err != nil {
				t.Error(err)
			}
			time.Sleep(2 * time.Millisecond)
		}
	})
	if n := opened.Load(); n > workers*6/5 {
		t.Errorf("%d connections for %d workers", n, workers)
	}
}

func inParallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}
