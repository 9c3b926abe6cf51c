package engine

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestDeadline(t *testing.T) {
	const limit = 10 * time.Second
	pause := func(d *deadline, wait time.Duration) {
		d.waiting(true)
		time.Sleep(wait)
		d.waiting(false)
	}
	for _, c := range []struct {
		name string
		do   func(*deadline)
		want time.Duration // 0: never
	}{
		{"no wait", func(*deadline) {}, limit},
		{"one wait", func(d *deadline) { time.Sleep(time.Second); pause(d, time.Hour) }, limit + time.Hour},
		{"waits in a row", func(d *deadline) {
			for range 3 {
				time.Sleep(time.Second)
				pause(d, time.Minute)
			}
		}, limit + 3*time.Minute},
		{"waits inside each other", func(d *deadline) {
			d.waiting(true)
			time.Sleep(time.Second)
			pause(d, time.Second)
			time.Sleep(time.Second)
			d.waiting(false)
		}, limit + 3*time.Second},
		{"a wait that does not end", func(d *deadline) { d.waiting(true) }, 0},
		{"the end", func(d *deadline) { d.stop() }, 0},
		{"a wait that ends after the end", func(d *deadline) { d.waiting(true); d.stop(); d.waiting(false) }, 0},
		{"the end within a wait", func(d *deadline) { d.waiting(true); d.stop() }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, expired := time.Now(), time.Duration(0)
				d := newDeadline(limit, time.Now, func() { expired += time.Since(began) })
				c.do(d)
				time.Sleep(24 * time.Hour)
				synctest.Wait()
				if expired != c.want {
					t.Errorf("expired after %s, want %s", expired, c.want)
				}
				d.stop()
			})
		})
	}
}
