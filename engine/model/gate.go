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

// pass returns when a request may begin, and how long it was held back. Told is
// called before and after a wait.
func (g *gate) pass(ctx context.Context, told func(bool)) (waited time.Duration, err error) {
	begin := g.clock.now()
	var mine, seen time.Time
	for {
		g.mu.Lock()
		now := g.clock.now()
		if !now.Before(g.until) && !now.Before(mine) {
			if waited > 0 || !mine.IsZero() {
				g.waiting--
			}
			g.mu.Unlock()
			break
		}
		if mine.IsZero() {
			g.waiting++
		}
		if g.until.After(seen) {
			seen = g.until
			mine = seen.Add(g.spread())
		}
		first := waited == 0
		g.mu.Unlock()
		if first && told != nil {
			told(true)
			defer told(false)
		}
		if err := g.clock.sleep(ctx, max(mine.Sub(now), 1)); err != nil {
			g.mu.Lock()
			g.waiting--
			g.mu.Unlock()
			return g.clock.now().Sub(begin), err
		}
		waited = max(g.clock.now().Sub(begin), 1)
	}
	return waited, nil
}

// spread draws a waiter's own delay after the hold.
func (g *gate) spread() time.Duration {
	most := min(max(time.Duration(g.waiting)*spreadEach, spreadLeast), spreadMost)
	return time.Duration(g.clock.random() * float64(most))
}

// hold notes that a request that began at a moment met a limit, and the wait
// that came with it, 0 if none did. All answers to requests that were under way
// when the limit was first met count as one meeting.
func (g *gate) hold(began time.Time, told time.Duration) (until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock.now()
	fresh := !began.Before(g.since)
	if told <= 0 {
		if !fresh && now.Before(g.until) {
			return g.until
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
	return g.until
}

// passed notes that a request that began at a moment met no limit.
func (g *gate) passed(began time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !began.Before(g.until) {
		g.strikes = 0
	}
}
