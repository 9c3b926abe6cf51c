package simulated

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// limiter is a token bucket that holds one second's worth of requests.
type limiter struct {
	rate float64 // requests a second; 0: no limit
	now  func() time.Time

	mu     sync.Mutex
	tokens float64
	at     time.Time // when tokens was right
}

// take takes a token, or says how long until there is one.
func (l *limiter) take() (wait time.Duration) {
	if l.rate == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now, full := l.now(), max(1, l.rate)
	if l.at.IsZero() {
		l.tokens = full
	} else {
		l.tokens = min(full, l.tokens+now.Sub(l.at).Seconds()*l.rate)
	}
	l.at = now
	if l.tokens >= 1 {
		l.tokens--
		return 0
	}
	return time.Duration(math.Ceil((1 - l.tokens) / l.rate * float64(time.Second)))
}

// tell sets the headers of a 429: whole seconds, as the standard has it, and
// milliseconds for clients that know them.
func tell(h http.Header, wait time.Duration) {
	h.Set("Retry-After", strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10))
	h.Set("Retry-After-Ms", strconv.FormatInt(int64((wait+time.Millisecond-1)/time.Millisecond), 10))
}
