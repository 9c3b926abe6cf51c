package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func wantError(t *testing.T, err error, class Class, reason string, tries int) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a %v error", err, class)
	}
	if e.Class != class || e.Reason != reason || e.Tries != tries {
		t.Fatalf("got %v %s after %d tries (%v), want %v %s after %d", e.Class, e.Reason, e.Tries, e, class, reason, tries)
	}
	return e
}

func TestTransientFailuresAreRetried(t *testing.T) {
	tests := []struct {
		name   string
		a      answer
		reason string
		why    string // of the rejected replies, empty if none is kept
	}{
		{"server error", answer{status: 500, body: `{"error":{"message":"boom"}}`}, ReasonServer, ""},
		{"gateway page", answer{status: 502, body: "<html><title>502</title></html>"}, ReasonServer, ""},
		{"error in a good status", answer{body: `{"error":{"message":"boom","code":502}}`}, ReasonServer, whyErrorBody},
		{"no choices", answer{body: `{"choices":[]}`}, ReasonServer, whyEmptyChoices},
		{"finish error", answer{body: `{"choices":[{"message":{"content":"4"},"finish_reason":"error"}]}`}, ReasonServer, whyErrorChoice},
		{"nothing", answer{status: 204}, ReasonServer, whyNoReply},
		{"cut body", answer{do: cutAnswer}, ReasonNetwork, whyCutBody},
		{"dropped connection", answer{do: dropAnswer}, ReasonNetwork, ""},
		{"empty reply", answer{body: `{"choices":[{"message":{"content":""},"finish_reason":"stop"}]}`}, ReasonEmptyReply, whyEmptyReply},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript(t, tt.a, tt.a, good())
			c, clock := connect(t, s.URL)
			r, err := c.Complete(t.Context(), prompt(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Content != "42" || r.Tries != 3 || s.count() != 3 {
				t.Errorf("got %q after %d tries, %d requests", r.Content, r.Tries, s.count())
			}
			if want := "[250ms 500ms]"; fmt.Sprint(clock.slept) != want {
				t.Errorf("slept %v, want %s", clock.slept, want)
			}
			checkRejected(t, r.Rejected, tt.why, 2)

			s = newScript(t, tt.a)
			c, _ = connect(t, s.URL)
			_, err = c.Complete(t.Context(), prompt(), nil)
			e := wantError(t, err, Transient, tt.reason, maxTries)
			checkRejected(t, e.Rejected, tt.why, maxTries)
		})
	}
}

func checkRejected(t *testing.T, got []Rejected, why string, n int) {
	t.Helper()
	if why == "" {
		n = 0
	}
	if len(got) != n {
		t.Fatalf("%d rejected replies, want %d", len(got), n)
	}
	for _, r := range got {
		if r.Why != why || r.Status/100 != 2 || r.At.IsZero() {
			t.Errorf("rejected %+v, want %s", r, why)
		}
	}
}

func TestPermanentAndFatalErrorsAreNotRetried(t *testing.T) {
	tests := []struct {
		a      answer
		class  Class
		reason string
	}{
		{answer{status: 400, body: `{"error":{"message":"no"}}`}, Permanent, ReasonBadRequest},
		{answer{status: 400, body: `{"error":{"message":"x","code":"context_length_exceeded"}}`}, Permanent, ReasonContext},
		{answer{status: 404, body: `{"error":{"message":"x","code":"model_not_found"}}`}, Permanent, ReasonModelNotFound},
		{answer{status: 401}, Fatal, ReasonCredentials},
		{answer{status: 402}, Fatal, ReasonPayment},
		{answer{status: 404, body: "nothing here"}, Fatal, ReasonEndpoint},
		{answer{body: `{"error":{"message":"x","code":402}}`}, Fatal, ReasonPayment},
	}
	for _, tt := range tests {
		s := newScript(t, tt.a)
		c, clock := connect(t, s.URL)
		_, err := c.Complete(t.Context(), prompt(), nil)
		wantError(t, err, tt.class, tt.reason, 1)
		if clock.total() != 0 {
			t.Errorf("%+v: slept %v", tt.a, clock.slept)
		}
	}
}

func TestRateLimitsAreNoTries(t *testing.T) {
	limit := answer{status: 429, headers: []string{"Retry-After: 2"}, body: `{"error":{"message":"slow"}}`}
	s := newScript(t, limit, limit, limit, limit, limit, limit, limit, limit, good())
	c, clock := connect(t, s.URL)
	var notices []bool
	r, err := c.Complete(t.Context(), prompt(), func(on bool) { notices = append(notices, on) })
	if err != nil {
		t.Fatal(err)
	}
	if r.Tries != 9 || clock.total() != 16*time.Second {
		t.Errorf("%d tries, slept %v", r.Tries, clock.slept)
	}
	if len(notices) != 16 || !notices[0] || notices[15] {
		t.Errorf("notices %v", notices)
	}
}

func TestRateLimitInAGoodStatus(t *testing.T) {
	limit := answer{headers: []string{"Retry-After: 30"}, body: `{"error":{"message":"slow","code":429}}`}
	s := newScript(t, limit, good())
	c, clock := connect(t, s.URL)
	r, err := c.Complete(t.Context(), prompt(), nil)
	if err != nil || r.Tries != 2 || clock.total() != 30*time.Second {
		t.Errorf("%+v, %v, slept %v", r, err, clock.slept)
	}
}

func TestUnavailableWaitsAsTold(t *testing.T) {
	s := newScript(t, answer{status: 503, headers: []string{"Retry-After: 20"}})
	c, clock := connect(t, s.URL)
	_, err := c.Complete(t.Context(), prompt(), nil)
	wantError(t, err, Transient, ReasonServer, maxTries)
	if clock.total() != 100*time.Second {
		t.Errorf("slept %v", clock.slept)
	}
}

func TestLongRateLimitIsFatal(t *testing.T) {
	s := newScript(t, answer{status: 429, headers: []string{"Retry-After: 7200"}, body: `{"error":{"message":"daily limit"}}`})
	c, clock := connect(t, s.URL)
	_, err := c.Complete(t.Context(), prompt(), nil)
	e := wantError(t, err, Fatal, ReasonRateLimit, 1)
	if !strings.Contains(e.Message, "rate limited until 2026-03-01T14:00:00Z") || !strings.Contains(e.Message, "daily limit") || clock.total() != 0 {
		t.Errorf("got %v, slept %v", e, clock.slept)
	}
}

func TestEndlessRateLimitEndsTheCall(t *testing.T) {
	s := newScript(t, answer{status: 429})
	c, clock := connect(t, s.URL)
	_, err := c.Complete(t.Context(), prompt(), nil)
	var e *Error
	if !errors.As(err, &e) || e.Class != Transient || e.Reason != ReasonRateLimit {
		t.Fatal(err)
	}
	if d := clock.total(); d < time.Hour || d > time.Hour+time.Minute {
		t.Errorf("waited %v", d)
	}
}

func TestCutRepliesAreBounded(t *testing.T) {
	for _, body := range []string{
		`{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"t","arguments":"{\"a"}}]},"finish_reason":"length"}],"usage":{"completion_tokens":9}}`,
		`{"choices":[{"message":{"content":"I will read it"},"finish_reason":"tool_calls"}],"usage":{"completion_tokens":9}}`,
	} {
		s := newScript(t, answer{body: body})
		c, clock := connect(t, s.URL)
		_, err := c.Complete(t.Context(), prompt(), nil)
		e := wantError(t, err, Permanent, ReasonCutReplies, maxCut)
		if len(e.Rejected) != maxCut || e.Rejected[0].Usage.CompletionTokens != 9 || string(e.Rejected[0].Raw) != body || clock.total() != 0 {
			t.Errorf("rejected %+v, slept %v", e.Rejected, clock.slept)
		}
	}
}

func TestSilentAndSlowServersTimeOut(t *testing.T) {
	for _, tt := range []struct {
		name     string
		do       http.HandlerFunc
		rejected int
	}{{"silent", hangAnswer, 0}, {"slow", dripAnswer, 1}} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript(t, answer{do: tt.do}, good())
			c, _ := connect(t, s.URL, func(o *Options) { o.RequestTimeout = 100 * time.Millisecond })
			r, err := c.Complete(t.Context(), prompt(), nil)
			if err != nil || r.Tries != 2 || len(r.Rejected) != tt.rejected {
				t.Fatalf("got %+v, %v", r, err)
			}
			s = newScript(t, answer{do: tt.do})
			c, _ = connect(t, s.URL, func(o *Options) { o.RequestTimeout = 20 * time.Millisecond })
			_, err = c.Complete(t.Context(), prompt(), nil)
			wantError(t, err, Transient, ReasonTimeout, maxTries)
		})
	}
}

func TestCancelledCalls(t *testing.T) {
	arrived := make(chan struct{}, 1)
	hang := answer{do: func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	}}
	tests := []struct {
		name     string
		answers  []answer
		tries    int
		rejected int
	}{
		{"in flight", []answer{hang}, 1, 0},
		{"in flight after a rejected reply", []answer{{body: `{"choices":[],"usage":{"prompt_tokens":7}}`}, hang}, 2, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript(t, tt.answers...)
			c, _ := connect(t, s.URL)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-arrived
				cancel()
			}()
			_, err := c.Complete(ctx, prompt(), nil)
			checkInterrupted(t, err, tt.tries, tt.rejected)
		})
	}
	t.Run("while waiting", func(t *testing.T) {
		for _, a := range []answer{{status: 429, headers: []string{"Retry-After: 600"}}, {status: 500}} {
			s := newScript(t, a)
			ctx, cancel := context.WithCancel(t.Context())
			c, _ := connect(t, s.URL, func(o *Options) {
				o.Now, o.Random = nil, nil
				o.Sleep = func(ctx context.Context, d time.Duration) error {
					if d > 0 {
						cancel()
					}
					return sleep(ctx, d)
				}
			})
			_, err := c.Complete(ctx, prompt(), nil)
			checkInterrupted(t, err, 1, 0)
		}
	})
	t.Run("before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := newScript(t, good())
		c, _ := connect(t, s.URL)
		_, err := c.Complete(ctx, prompt(), nil)
		checkInterrupted(t, err, 0, 0)
		if s.count() != 0 {
			t.Error("a request was sent")
		}
	})
}

func checkInterrupted(t *testing.T, err error, tries, rejected int) {
	t.Helper()
	var stop *Interrupted
	if !errors.Is(err, context.Canceled) || !errors.As(err, &stop) || errors.As(err, new(*Error)) {
		t.Fatalf("got %v", err)
	}
	if stop.Tries != tries || len(stop.Rejected) != rejected {
		t.Errorf("got %d tries, %d rejected; want %d, %d", stop.Tries, len(stop.Rejected), tries, rejected)
	}
}

// No worker sends anything while a told wait lasts, but for what is on its way
// when the 429 arrives. Time is simulated, so that every request counts.
func TestRateLimitHoldsAllWorkers(t *testing.T) {
	const (
		latency = 5 * time.Millisecond
		told    = 300 * time.Millisecond
		workers = 64
	)
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var known, until time.Time // when the client knows of the last 429, and its end
		served, refused, early := 0, 0, 0
		limited := roundTripper(func(r *http.Request) (*http.Response, error) {
			io.Copy(io.Discard, r.Body)
			mu.Lock()
			now := time.Now()
			if now.After(known) && now.Before(until) {
				early++
			}
			served++
			refuse := served%40 == 0
			if refuse {
				refused++
				known, until = now.Add(latency), now.Add(latency+told)
			}
			mu.Unlock()
			time.Sleep(latency)
			res := &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(goodReply)), Request: r}
			if refuse {
				res.StatusCode, res.Header = 429, header("Retry-After: 0.3")
			}
			return res, nil
		})
		e, _ := Resolve("http://model.localhost/v1")
		c, _ := New(Options{Endpoint: e, Workers: workers, Transport: limited})
		inParallel(workers, func(int) {
			for range 8 {
				if _, err := c.Complete(t.Context(), prompt(), nil); err != nil {
					t.Error(err)
				}
			}
		})
		if early != 0 || refused == 0 {
			t.Errorf("%d of %d requests came early, %d were refused", early, served, refused)
		}
	})
}
