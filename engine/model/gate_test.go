package model

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func newGate() *gate {
	return &gate{clock: clock{now: time.Now, sleep: sleep, random: rand.Float64}}
}

func TestGateHoldsEverybodyBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		if waited, err := g.pass(t.Context(), nil); waited != 0 || err != nil {
			t.Fatalf("an open gate: waited %v, %v", waited, err)
		}
		began := time.Now()
		g.hold(began, 10*time.Second)
		var mu sync.Mutex
		starts := map[time.Duration]int{}
		notices := 0
		for range 200 {
			go func() {
				waited, err := g.pass(t.Context(), func(on bool) {
					mu.Lock()
					defer mu.Unlock()
					notices++
				})
				mu.Lock()
				defer mu.Unlock()
				at := time.Since(began)
				if err != nil || at < 10*time.Second || waited != at {
					t.Errorf("passed after %v, waited %v, %v", at, waited, err)
				}
				starts[at.Truncate(50*time.Millisecond)]++
			}()
		}
		time.Sleep(5 * time.Second)
		g.hold(time.Now(), time.Second) // shorter: the longer one stays
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(starts) < 5 {
			t.Errorf("the restarts are not spread: %v", starts)
		}
		if notices != 400 {
			t.Errorf("%d notices of waiting, want 400", notices)
		}
		if g.waiting != 0 {
			t.Errorf("%d are still counted as waiting", g.waiting)
		}
	})
}

func TestGateExtendsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		began := time.Now()
		g.hold(began, time.Second)
		done := make(chan time.Duration)
		go func() {
			g.pass(t.Context(), nil)
			done <- time.Since(began)
		}()
		time.Sleep(900 * time.Millisecond)
		g.hold(time.Now(), 5*time.Second)
		if at := <-done; at < 5900*time.Millisecond {
			t.Errorf("passed after %v", at)
		}
	})
}

func TestGateEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		g.hold(time.Now(), time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		waited, err := g.pass(ctx, nil)
		if !errors.Is(err, context.DeadlineExceeded) || waited != time.Second {
			t.Errorf("waited %v, %v", waited, err)
		}
		if g.waiting != 0 {
			t.Errorf("%d are still counted as waiting", g.waiting)
		}
	})
}

// Without a told wait each meeting of the limit is waited for longer, and many
// answers to one wave of requests are one meeting.
func TestGateGrowsUntoldWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		g.clock.random = func() float64 { return 0 }
		meet := func() time.Duration {
			began := time.Now()
			for range 20 {
				g.hold(began, 0)
			}
			waited, _ := g.pass(t.Context(), nil)
			return waited
		}
		for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			if got := meet(); got != want*time.Second {
				t.Errorf("waited %v, want %ds", got, want)
			}
		}
		g.passed(time.Now())
		if got := meet(); got != time.Second {
			t.Errorf("after a success: waited %v, want 1s", got)
		}
	})
}
