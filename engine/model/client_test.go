package model

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

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
		call := Call{r.Calls[0].ID, r.Calls[0].Name, r.Calls[0].Arguments}
		conv.Append(Message{Role: "assistant", Reasoning: r.Reasoning, ReasoningField: r.ReasoningField, ToolCalls: []Call{call}},
			Message{Role: "tool", ToolCallID: call.ID, Name: "t"})
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
	if strings.Contains(all, "canary") || strings.Count(all, "[secret]") < 5 {
		t.Errorf("got %s", all)
	}
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
