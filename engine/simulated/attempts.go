package simulated

import (
	"math"
	"sync"
)

// mostAttempts bounds the turns that are remembered as not answered yet.
const mostAttempts = 1 << 16

// attempts counts how often turns were tried without an answer. A turn is
// forgotten when it is answered, so that few are remembered at any time; of
// more than mostAttempts any one is dropped.
type attempts struct {
	mu     sync.Mutex
	failed map[key]int
}

func (a *attempts) count(k key) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed[k]
}

func (a *attempts) fail(k key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failed == nil {
		a.failed = map[key]int{}
	}
	if _, ok := a.failed[k]; !ok && len(a.failed) >= mostAttempts {
		for other := range a.failed {
			delete(a.failed, other)
			break
		}
	}
	a.failed[k]++
}

func (a *attempts) answered(k key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.failed, k)
}

// fault is how a request fails.
type fault int

const (
	noFault fault = iota
	serverError
	reset
)

// draw decides whether the given attempt at a turn fails. It depends on
// nothing else than seed, turn and attempt.
func (o Options) draw(k key, attempt int) fault {
	if o.Fail == 0 {
		return noFault
	}
	switch u := o.fraction(k, "fault", attempt); {
	case u < o.Fail/2:
		return serverError
	case u < o.Fail:
		return reset
	}
	return noFault
}

// fraction is a number from 0 to below 1 that belongs to a turn.
func (o Options) fraction(k key, name string, attempt int) float64 {
	n := k.number(string(appendUint(appendUint([]byte(name), o.Seed), uint64(attempt))))
	return float64(n>>11) / math.Exp2(53)
}
