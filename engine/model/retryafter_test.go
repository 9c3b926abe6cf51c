package model

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

var testNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func header(lines ...string) http.Header {
	h := http.Header{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return h
}

func TestToldWait(t *testing.T) {
	tests := []struct {
		name    string
		headers []string
		want    time.Duration
	}{
		{"nothing", nil, 0},
		{"seconds", []string{"Retry-After: 7"}, 7 * time.Second},
		{"fraction", []string{"Retry-After: 0.25"}, 250 * time.Millisecond},
		{"zero", []string{"Retry-After: 0"}, 0},
		{"negative", []string{"Retry-After: -3"}, 0},
		{"words", []string{"Retry-After: soon"}, 0},
		{"not a number", []string{"Retry-After: NaN"}, 0},
		{"for ever", []string{"Retry-After: 1e8"}, longestTold},
		{"infinite", []string{"Retry-After: Inf"}, 0},
		{"date", []string{"Retry-After: Sun, 01 Mar 2026 12:01:30 GMT"}, 90 * time.Second},
		{"date by the server's clock", []string{"Retry-After: Sun, 01 Mar 2026 08:00:20 GMT", "Date: Sun, 01 Mar 2026 08:00:00 GMT"}, 20 * time.Second},
		{"past date", []string{"Retry-After: Sun, 01 Mar 2026 11:00:00 GMT"}, 0},
		{"milliseconds", []string{"retry-after-ms: 1500"}, 1500 * time.Millisecond},
		{"milliseconds are exact", []string{"Retry-After: 2", "retry-after-ms: 1200"}, 1200 * time.Millisecond},
		{"bad milliseconds", []string{"Retry-After: 2", "retry-after-ms: x"}, 2 * time.Second},
		{"moment in seconds", []string{"Retry-After: 1772366410"}, 10 * time.Second},
		{"reset duration", []string{"x-ratelimit-remaining-requests: 0", "x-ratelimit-reset-requests: 6m0s"}, 6 * time.Minute},
		{"reset fraction", []string{"x-ratelimit-remaining-tokens: 0", "x-ratelimit-reset-tokens: 1.2s"}, 1200 * time.Millisecond},
		{"reset milliseconds", []string{"x-ratelimit-remaining-tokens: 0", "x-ratelimit-reset-tokens: 250ms"}, 250 * time.Millisecond},
		{"reset of what is left", []string{"x-ratelimit-remaining-requests: 3", "x-ratelimit-reset-requests: 6m0s", "x-ratelimit-remaining-tokens: 0", "x-ratelimit-reset-tokens: 2s"}, 2 * time.Second},
		{"the longer reset", []string{"x-ratelimit-remaining-requests: 0", "x-ratelimit-reset-requests: 5s", "x-ratelimit-remaining-tokens: 0", "x-ratelimit-reset-tokens: 2s"}, 5 * time.Second},
		{"reset without remaining", []string{"x-ratelimit-reset-requests: 6m0s"}, 0},
		{"retry-after wins", []string{"Retry-After: 1", "x-ratelimit-remaining-requests: 0", "x-ratelimit-reset-requests: 6m0s"}, time.Second},
		{"epoch seconds", []string{"X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1772366430"}, 30 * time.Second},
		{"epoch milliseconds", []string{"X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1772366430500"}, 30500 * time.Millisecond},
		{"time of day", []string{"anthropic-ratelimit-tokens-remaining: 0", "anthropic-ratelimit-tokens-reset: 2026-03-01T12:00:45Z"}, 45 * time.Second},
	}
	for _, tt := range tests {
		got := toldWait(header(tt.headers...), nil, testNow)
		if d := got - tt.want; d < 0 || d > time.Millisecond {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestToldWaitInTheBody(t *testing.T) {
	d := detailOf([]byte(`{"error":{"message":"Rate limit exceeded","code":429,"metadata":{"headers":{"X-RateLimit-Remaining":"0","X-RateLimit-Reset":1772366460000}}}}`))
	got := toldWait(http.Header{}, d.headers, testNow)
	if got < time.Minute || got > time.Minute+time.Millisecond {
		t.Errorf("got %v from %v, want a minute", got, d.headers)
	}
}

func FuzzParseWait(f *testing.F) {
	for _, s := range []string{"", "7", "0.5", "-1", "1e400", "NaN", "0x1p3", "6m0s", "1.2s", "-5s", "Sun, 01 Mar 2026 12:01:30 GMT", "2026-03-01T12:00:45Z", "1772366430", "1772366430500"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d := parseWait(s, testNow); d < 0 || d > longestTold {
			t.Errorf("%q is a wait of %v", s, d)
		}
	})
}
