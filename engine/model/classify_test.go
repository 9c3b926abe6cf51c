package model

import (
	"net/http"
	"strings"
	"testing"
)

func TestStatusFaults(t *testing.T) {
	const page = "<html><head><title>Oops</title></head></html>"
	fresh, proven := history{answered: true}, history{answered: true, succeeded: true}
	tests := []struct {
		name   string
		status int
		body   string
		past   history
		class  Class
		reason string
		says   string
	}{
		{"bad key", 401, `{"error":{"message":"No auth credentials found","code":401}}`, proven, Fatal, ReasonCredentials, "No auth"},
		{"bad key, page", 401, page, fresh, Fatal, ReasonCredentials, "Oops"},
		{"forbidden", 403, `{"error":{"message":"Key limit exceeded","code":403}}`, proven, Fatal, ReasonCredentials, "Key limit"},
		{"forbidden page before success", 403, page, fresh, Fatal, ReasonCredentials, "Oops"},
		{"firewall after success", 403, page, proven, Permanent, ReasonBadRequest, "Oops"},
		{"moderation", 403, `{"error":{"message":"flagged","code":403,"metadata":{"reasons":["x"],"flagged_input":"y"}}}`, fresh, Permanent, ReasonRefusal, "flagged"},
		{"content filter", 400, `{"error":{"message":"filtered","code":"content_filter"}}`, fresh, Permanent, ReasonRefusal, ""},
		{"no credit", 402, `{"error":{"message":"Insufficient credits","code":402}}`, proven, Fatal, ReasonPayment, "credits"},
		{"quota", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, proven, Fatal, ReasonPayment, ""},
		{"rate", 429, `{"error":{"message":"slow","type":"requests","code":"rate_limit_exceeded"}}`, proven, Transient, ReasonRateLimit, "slow"},
		{"rate called server error", 429, `{"error":{"message":"slow","type":"server_error"}}`, proven, Transient, ReasonRateLimit, ""},
		{"rate, google", 429, `[{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}]`, proven, Transient, ReasonRateLimit, "slow"},
		{"rate, no body", 429, ``, fresh, Transient, ReasonRateLimit, "Too Many Requests"},
		{"bad request", 400, `{"error":{"message":"tools[0]: bad schema","type":"invalid_request_error"}}`, proven, Permanent, ReasonBadRequest, "schema"},
		{"bad request, list of messages", 400, `{"error":{"message":["a","b"],"type":"x"}}`, proven, Permanent, ReasonBadRequest, "a, b"},
		{"unprocessable", 422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, proven, Permanent, ReasonBadRequest, "field required"},
		{"bad key called bad request", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass one.","status":"INVALID_ARGUMENT"}}]`, fresh, Fatal, ReasonCredentials, ""},
		{"context by code", 400, `{"error":{"message":"x","code":"context_length_exceeded"}}`, proven, Permanent, ReasonContext, ""},
		{"context, vllm", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000","type":"BadRequestError","code":400}`, proven, Permanent, ReasonContext, "4096"},
		{"context, llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds","type":"exceed_context_size_error","n_ctx":4096}}`, proven, Permanent, ReasonContext, ""},
		{"context, anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, proven, Permanent, ReasonContext, ""},
		{"context, behind a router", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"message\":\"Input is too long for requested model.\"}","provider_name":"P"}}}`, proven, Permanent, ReasonContext, ""},
		{"too large", 413, `{"error":{"message":"Request too large, limit 6000","code":"rate_limit_exceeded"}}`, proven, Permanent, ReasonContext, ""},
		{"unknown model", 404, `{"error":{"message":"The model x does not exist","code":"model_not_found"}}`, fresh, Permanent, ReasonModelNotFound, ""},
		{"unknown model, vllm", 404, `{"object":"error","message":"The model x does not exist.","type":"NotFoundError","code":404}`, fresh, Permanent, ReasonModelNotFound, ""},
		{"unknown model, text", 404, `{"error":"model 'x' not found, try pulling it first"}`, fresh, Permanent, ReasonModelNotFound, "pulling"},
		{"unknown model, bad request", 400, `{"error":{"message":"foo/bar is not a valid model ID","code":400}}`, fresh, Permanent, ReasonModelNotFound, ""},
		{"wrong path, page", 404, page, fresh, Fatal, ReasonEndpoint, "no chat completions at http://host/v1"},
		{"wrong path, fastapi", 404, `{"detail":"Not Found"}`, fresh, Fatal, ReasonEndpoint, "no chat completions at http://host/v1 (Not Found)"},
		{"wrong path, plain", 404, "404 page not found\n", fresh, Fatal, ReasonEndpoint, "no chat completions at http://host/v1 (404 page not found)"},
		{"wrong path, openai", 404, `{"error":{"message":"Unknown request URL","code":"unknown_url"}}`, fresh, Fatal, ReasonEndpoint, ""},
		{"wrong path, llama.cpp", 404, `{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}`, fresh, Fatal, ReasonEndpoint, ""},
		{"wrong method", 405, ``, fresh, Fatal, ReasonEndpoint, ""},
		{"gone for a while", 404, page, proven, Transient, ReasonServer, "Oops"},
		{"redirect", 301, ``, fresh, Fatal, ReasonEndpoint, "https://elsewhere/v1"},
		{"redirect after success", 302, ``, proven, Transient, ReasonServer, "elsewhere"},
		{"server", 500, `{"error":{"message":"boom"}}`, fresh, Transient, ReasonServer, "boom"},
		{"server says too long of something else", 500, `{"error":{"message":"input is too long ago"}}`, fresh, Transient, ReasonServer, ""},
		{"gateway", 502, page, fresh, Transient, ReasonServer, "Oops"},
		{"overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, fresh, Transient, ReasonServer, ""},
		{"unavailable", 503, ``, fresh, Transient, ReasonServer, "Service Unavailable"},
		{"conflict", 409, ``, fresh, Transient, ReasonServer, ""},
		{"too early", 425, ``, fresh, Transient, ReasonServer, ""},
		{"request timeout", 408, ``, fresh, Transient, ReasonServer, ""},
		{"odd shapes", 400, `{"error":{"message":{"text":"nested"},"code":[],"type":5,"metadata":"x"}}`, fresh, Permanent, ReasonBadRequest, "nested"},
		{"empty object", 400, `{}`, fresh, Permanent, ReasonBadRequest, "Bad Request"},
		{"cut JSON", 400, `{"error":{"mess`, fresh, Permanent, ReasonBadRequest, `{"error":{"mess`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ex := &exchange{status: tt.status, raw: []byte(tt.body), header: header("Location: https://elsewhere/v1")}
			f := statusFault(ex, Endpoint{URL: "http://host/v1"}, tt.past)
			if f.class != tt.class || f.reason != tt.reason || !strings.Contains(f.message, tt.says) || f.message == "" {
				t.Errorf("got %v %s %q, want %v %s %q", f.class, f.reason, f.message, tt.class, tt.reason, tt.says)
			}
			if f.status != tt.status {
				t.Errorf("got status %d", f.status)
			}
			if f.rate != (tt.reason == ReasonRateLimit) {
				t.Errorf("rate is %v", f.rate)
			}
		})
	}
}

func FuzzDetail(f *testing.F) {
	for _, s := range []string{"", "x", "[", "[{}]", `{"error":{"code":"x","message":["a"]}}`, `{"error":"x"}`, `{"detail":[{}]}`, "<title>x", `{"object":"error","code":"7"}`, `{"error":{"metadata":{"headers":{"a":1}}}}`} {
		f.Add(400, []byte(s))
	}
	f.Fuzz(func(t *testing.T, status int, raw []byte) {
		if status < 300 || status > 599 {
			status = http.StatusBadRequest
		}
		for _, past := range []history{{}, {true, true}} {
			fault := statusFault(&exchange{status: status, raw: raw}, Endpoint{}, past)
			fault.why = "x"
			checkFault(t, fault)
		}
	})
}

func TestOneLine(t *testing.T) {
	long := strings.Repeat("ä", 400)
	tests := []struct{ in, want string }{
		{"a\nb\r\n c\x1b[31m\t d\u202e", "a b c[31m d"},
		{long, strings.Repeat("ä", 299) + "…"},
		{"", ""},
	}
	for _, tt := range tests {
		if got := oneLine(tt.in); got != tt.want {
			t.Errorf("%q became %q, want %q", tt.in, got, tt.want)
		}
	}
}
