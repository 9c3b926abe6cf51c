package engine

import (
	"sync"
	"time"
)

// deadline is the time limit of one prompt. It stands still while the prompt
// waits for a rate limit. Safe for concurrent use.
type deadline struct {
	mu      sync.Mutex
	now     func() time.Time
	left    time.Duration
	started time.Time
	timer   *time.Timer
	paused  int
	expire  func()
}

func newDeadline(limit time.Duration, now func() time.Time, expire func()) *deadline {
	d := &deadline{now: now, left: limit, started: now(), expire: expire}
	d.timer = time.AfterFunc(limit, expire)
	return d
}

// waiting tells that the prompt begins (true) or ends (false) to wait.
func (d *deadline) waiting(begins bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if begins {
		if d.paused++; d.paused == 1 {
			d.timer.Stop()
			d.left -= d.now().Sub(d.started)
		}
		return
	}
	if d.paused--; d.paused == 0 {
		d.started = d.now()
		d.timer = time.AfterFunc(max(d.left, 0), d.expire)
	}
}

func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer.Stop()
	d.paused++ // a late end of a wait starts no timer
}
