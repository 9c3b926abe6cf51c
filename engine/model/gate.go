package model

import (
	"context"
	"sync"
	"time"
)

const (
	// A rate limit that tells no wait is waited for a second at first, and
	// twice as long each time that it is met again, up to a minute: the windows
	// of most limits.
	untoldFirst = time.Second
	untoldMost  = time.Minute

	// Those who were held back start again spread over a time that grows with
	// their number, so that they do not meet the limit all at once.
	spreadLeast = 50 * time.Millisecond
	spreadEach  = 2 * time.Millisecond
	spreadMost  = 2 * time.Second
)

// clock is time and chance, injected.
type clock struct {
	now    func() time.Time
	sleep  func(ctx context.Context, d time.Duration) error
	random func() float64 // in [0, 1)
}

// gate holds the requests of all workers back while the endpoint asks for it.
type gate struct {
	clock clock

	mu      sync.Mutex
	until   time.Time // no request begins before
	since   time.Time // when the limit was last met
	strikes int       // how often in a row
	waiting int
}

// pass returns when a request may begin, and how long it was held back. Told, if
// not nil, is called before and after a wait.
func (g *gate) pass(ctx context.Context, told func(bool)) (waited time.Duration, err error) {
	begin := g.clock.now()
	if !begin.Before(g.heldUntil()) {
		return 0, nil
	}
	if told != nil {
		told(true)
		defer told(false)
	}
	g.count(+1)
	defer g.count(-1)
	var mine, seen time.Time // when this waiter starts, and the hold that it goes by
	for {
		if held := g.heldUntil(); held.After(seen) {
			seen, mine = held, held.Add(g.spread())
		}
		now := g.clock.now()
		if !now.Before(mine) {
			return now.Sub(begin), nil
		}
		if err := g.clock.sleep(ctx, mine.Sub(now)); err != nil {
			return g.clock.now().Sub(begin), err
		}
	}
}

// heldUntil returns the end of the present hold.
func (g *gate) heldUntil() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.until
}

// count counts a waiter in or out.
func (g *gate) count(change int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting += change
}

// spread draws a waiter's own delay after the hold.
func (g *gate) spread() time.Duration {
	g.mu.Lock()
	n := g.waiting
	g.mu.Unlock()
	most := min(max(time.Duration(n)*spreadEach, spreadLeast), spreadMost)
	return time.Duration(g.clock.random() * float64(most))
}

// hold notes that a request that began at a moment met a limit, and the wait
// that came with it, 0 if none did. All answers to requests that were under way
// when the limit was first met count as one meeting.
func (g *gate) hold(began time.Time, told time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock.now()
	fresh := began.After(g.since)
	if told <= 0 {
		if !fresh && now.Before(g.until) {
			return
		}
		told = min(untoldFirst<<min(g.strikes, 10), untoldMost)
	}
	if fresh {
		g.strikes++
		g.since = now
	}
	if end := now.Add(told); end.After(g.until) {
		g.until = end
	}
}

// passed notes that a request that began at a moment met no limit.
func (g *gate) passed(began time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !began.Before(g.until) {
		g.strikes = 0
	}
}
