package model

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestTold is the longest wait that is taken in; what is longer is as good as
// for ever.
const longestTold = 366 * 24 * time.Hour

// toldWait returns how long an endpoint asks to stay away, 0 if it does not say
// or the moment is past. Extra are headers that came in the body. Moments are
// measured by the server's clock where it tells the time.
func toldWait(h http.Header, extra map[string]string, now time.Time) time.Duration {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	get := func(name string) string {
		if v := h.Get(name); v != "" {
			return v
		}
		for k, v := range extra {
			if strings.EqualFold(k, name) {
				return v
			}
		}
		return ""
	}
	if ms, ok := positive(get("retry-after-ms")); ok {
		return wait(ms / 1000)
	}
	if d := parseWait(get("Retry-After"), now); d > 0 {
		return d
	}
	var longest time.Duration
	for _, limit := range []struct{ reset, remaining string }{
		{"x-ratelimit-reset-requests", "x-ratelimit-remaining-requests"},
		{"x-ratelimit-reset-tokens", "x-ratelimit-remaining-tokens"},
		{"x-ratelimit-reset", "x-ratelimit-remaining"},
		{"anthropic-ratelimit-requests-reset", "anthropic-ratelimit-requests-remaining"},
		{"anthropic-ratelimit-tokens-reset", "anthropic-ratelimit-tokens-remaining"},
	} {
		if left, err := strconv.ParseFloat(strings.TrimSpace(get(limit.remaining)), 64); err == nil && left <= 0 {
			longest = max(longest, parseWait(get(limit.reset), now))
		}
	}
	return longest
}

// parseWait reads a wait: seconds, a duration like 6m0s, a moment as a date or
// as seconds or milliseconds since 1970. It returns 0 for what is past or
// cannot be read.
func parseWait(s string, now time.Time) time.Duration {
	s = strings.TrimSpace(s)
	if n, ok := positive(s); ok {
		switch {
		case n >= 1e11:
			return until(now, n/1000)
		case n >= 1e9:
			return until(now, n)
		}
		return wait(n)
	}
	if d, err := time.ParseDuration(s); err == nil {
		return clampWait(d)
	}
	if t, err := http.ParseTime(s); err == nil {
		return clampWait(t.Sub(now))
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return clampWait(t.Sub(now))
	}
	return 0
}

// positive reads a finite number above 0.
func positive(s string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return n, err == nil && n > 0 && !math.IsInf(n, 0)
}

func until(now time.Time, epoch float64) time.Duration {
	return wait(epoch - float64(now.UnixNano())/1e9)
}

// wait rounds up to the nanosecond: a wait must never end early.
func wait(seconds float64) time.Duration {
	if seconds >= longestTold.Seconds() {
		return longestTold
	}
	return clampWait(time.Duration(math.Ceil(seconds * 1e9)))
}

func clampWait(d time.Duration) time.Duration {
	return min(max(d, 0), longestTold)
}
