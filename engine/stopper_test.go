package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestStopper(t *testing.T) {
	broken := &stopError{stopStore, errors.New("no space left")}
	refused := &stopError{"credentials", errors.New("HTTP 401")}
	for _, c := range []struct {
		name  string
		begin func(s *stopper, interrupt func())
		cause error
		grace time.Duration // until calls in flight are cut off
	}{
		{"an interrupt", func(s *stopper, interrupt func()) { interrupt() }, ErrInterrupted, 5 * time.Second},
		{"refused credentials", func(s *stopper, interrupt func()) { s.begin(refused) }, refused, 5 * time.Second},
		{"a store that fails", func(s *stopper, interrupt func()) { s.begin(broken) }, broken, 0},
		{"the first cause counts", func(s *stopper, interrupt func()) { s.begin(refused); interrupt() }, refused, 5 * time.Second},
		{"but for a store that fails", func(s *stopper, interrupt func()) { s.begin(refused); s.begin(broken); interrupt() }, broken, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, interrupt := context.WithCancel(t.Context())
				s, work := newStopper(ctx, 5*time.Second)
				time.Sleep(time.Hour)
				if s.stopping() || s.why() != nil || work.Err() != nil {
					t.Fatal("it stops by itself")
				}
				began := time.Now()
				c.begin(s, interrupt)
				synctest.Wait()
				if !s.stopping() || s.why() != c.cause {
					t.Errorf("stopping %v because of %v", s.stopping(), s.why())
				}
				<-work.Done()
				if took := time.Since(began); took != c.grace {
					t.Errorf("calls were cut off after %s, want %s", took, c.grace)
				}
				interrupt()
			})
		})
	}
}

func TestInterruptAfterTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		s, _ := newStopper(ctx, time.Second)
		s.cancel()
		interrupt()
		synctest.Wait()
		if s.why() != nil {
			t.Errorf("stopped because of %v", s.why())
		}
	})
}
