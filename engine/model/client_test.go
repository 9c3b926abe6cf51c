package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
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

func TestCompleteReturnsReply(t *testing.T) {
	s := newScript(t, good())
	c, _ := connect(t, s.URL, func(o *Options) {
		o.Key, o.UserAgent, o.Endpoint.Kind = "sk-12345678", "tester/1", OpenRouter
	})
	r, err := c.Complete(t.Context(), prompt(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Content != "42" || r.Finish != "stop" || r.Tries != 1 || string(r.Raw) != goodReply || r.ID != "r" || r.Usage.PromptTokens != 3 {
		t.Errorf("got %+v", r)
	}
	if r.Took <= 0 || r.At.Before(testNow) {
		t.Errorf("at %v, took %v", r.At, r.Took)
	}
	if want := `{"model":"m","messages":[{"role":"user","content":"what is 6 times 7?"}]}`; s.requests[0] != want {
		t.Errorf("sent %s, want %s", s.requests[0], want)
	}
	h := s.headers[0]
	if h.Get("Authorization") != "Bearer sk-12345678" || h.Get("User-Agent") != "tester/1" || h.Get("X-Title") == "" || h.Get("Content-Type") != "application/json" {
		t.Errorf("sent %v", h)
	}
}

func TestCallsGoBackAsTheyCame(t *testing.T) {
	const arguments = `{"n": 9007199254740993, "s": "<\u00e9>" }`
	reply := map[string]any{"choices": []any{map[string]any{"message": map[string]any{
		"reasoning_content": "hm", "tool_calls": []any{map[string]any{"id": "", "function": map[string]any{"name": "t", "arguments": arguments}}},
	}}}}
	body, _ := json.Marshal(reply)
	s := newScript(t, answer{body: string(body)}, answer{body: string(body)}, good())
	c, _ := connect(t, s.URL)
	conv := prompt()
	for turn := range 2 {
		r, err := c.Complete(t.Context(), conv, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("c%05d000", turn); r.Calls[0].ID != want || r.Repairs != 0 {
			t.Errorf("got %+v, want id %s", r.Calls[0], want)
		}
		conv.Append(r.Message(), Message{Role: "tool", ToolCallID: r.Calls[0].ID, Name: "t"})
	}
	if _, err := c.Complete(t.Context(), conv, nil); err != nil {
		t.Fatal(err)
	}
	var sent struct {
		Messages []struct {
			Content   *string
			Reasoning string `json:"reasoning_content"`
			ToolCalls []struct {
				ID       string
				Function struct{ Arguments string }
			} `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal([]byte(s.requests[2]), &sent); err != nil {
		t.Fatal(err)
	}
	for i, m := range sent.Messages {
		if m.Content == nil {
			t.Errorf("message %d has no content: %s", i, s.requests[2])
		}
	}
	first := sent.Messages[1]
	if first.Reasoning != "hm" || first.ToolCalls[0].Function.Arguments != arguments || first.ToolCalls[0].ID == sent.Messages[3].ToolCalls[0].ID {
		t.Errorf("sent %s", s.requests[2])
	}
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

func TestTokenLimitFallsBackOnce(t *testing.T) {
	var s *script
	s = newScript(t, answer{do: func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		last := s.requests[len(s.requests)-1]
		s.mu.Unlock()
		if strings.Contains(last, `"max_tokens":64`) {
			w.WriteHeader(400)
			io.WriteString(w, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`)
			return
		}
		io.WriteString(w, goodReply)
	}})
	c, clock := connect(t, s.URL)
	for range 3 {
		if _, err := c.Complete(t.Context(), prompt(func(p *Params) { p.MaxTokens = 64 }), nil); err != nil {
			t.Fatal(err)
		}
	}
	if s.count() != 4 || !strings.Contains(s.requests[3], `"max_completion_tokens":64`) || clock.total() != 0 {
		t.Errorf("%d requests, last %s, slept %v", s.count(), s.requests[s.count()-1], clock.slept)
	}
}

func TestTokenLimitOfReasoningModels(t *testing.T) {
	for _, tt := range []struct {
		kind  Kind
		model string
		want  string
	}{{OpenAI, "o3-mini", limitNew}, {OpenAI, "gpt-5", limitNew}, {OpenAI, "gpt-4o", limitOld}, {Other, "o3-mini", limitOld}} {
		c := &Client{endpoint: Endpoint{Kind: tt.kind}}
		if got := c.limitName(prompt(func(p *Params) { p.Model = tt.model })); got != tt.want {
			t.Errorf("%v %s: %s", tt.kind, tt.model, got)
		}
	}
}

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
	if !strings.Contains(e.Message, "base_url") || !strings.Contains(e.Message, "Welcome") {
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

func TestKeysAreMasked(t *testing.T) {
	const key = "sk-or-canary-0123456789"
	echo := func(status int, format string) answer {
		return answer{do: func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			fmt.Fprintf(w, format, r.Header.Get("Authorization"))
		}}
	}
	var log bytes.Buffer
	s := newScript(t, echo(500, `{"error":{"message":"bad: %s"}}`), echo(200, `{"choices":[],"x":%q}`), echo(200, `{"choices":[{"message":{"content":%q}}]}`), echo(401, "no: %s"))
	c, _ := connect(t, s.URL, func(o *Options) {
		o.Key = key
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	r, err := c.Complete(t.Context(), prompt(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Complete(t.Context(), prompt(), nil)
	e := wantError(t, err, Fatal, ReasonCredentials, 1)
	all := fmt.Sprint(string(r.Raw), r.Content, string(r.Rejected[0].Raw), e, e.Message, log.String())
	if strings.Contains(all, "canary") || strings.Count(all, "[masked]") < 5 {
		t.Errorf("got %s", all)
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

// BenchmarkComplete measures the whole call, server included; cpu-us is the
// time of both on all cores.
func BenchmarkComplete(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Length", fmt.Sprint(len(goodReply)))
		io.WriteString(w, goodReply)
	}))
	defer s.Close()
	e, _ := Resolve(s.URL + "/v1")
	c, _ := New(Options{Endpoint: e, Workers: 1})
	defer c.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Complete(context.Background(), prompt(), nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNormalise(b *testing.B) {
	var n normaliser
	b.ReportAllocs()
	for b.Loop() {
		if _, f := n.normalise([]byte(goodReply)); f != nil {
			b.Fatal(f.message)
		}
	}
}
