package engine

import (
	"context"
	"errors"
	"sync"
	"time"
)

// stopper ends a run in two stages: first nothing new is begun while calls in
// flight may finish, then, after the grace, they are cut off. The zero value
// is not usable.
type stopper struct {
	soft   chan struct{} // closed at the first stage
	cancel context.CancelFunc
	grace  time.Duration

	mu    sync.Mutex
	cause error // why; nil before the first stage
}

// newStopper returns the context of the work, which outlives ctx: its end only
// begins the stop.
func newStopper(ctx context.Context, grace time.Duration) (*stopper, context.Context) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &stopper{soft: make(chan struct{}), cancel: cancel, grace: grace}
	context.AfterFunc(ctx, func() {
		if work.Err() == nil {
			s.begin(ErrInterrupted)
		}
	})
	return s, work
}

// begin starts the stop. The first cause counts, but for a failing store, which
// always does and cuts the work off at once: nothing that is still done could
// be kept.
func (s *stopper) begin(cause error) {
	failing := stopReason(cause) == stopStore
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause == nil {
		s.cause = cause
		close(s.soft)
		time.AfterFunc(s.grace, s.cancel)
	}
	if failing {
		s.cause = cause
		s.cancel()
	}
}

// stopping tells whether the stop has begun.
func (s *stopper) stopping() bool {
	select {
	case <-s.soft:
		return true
	default:
		return false
	}
}

// why is the cause of the stop, nil if none was begun.
func (s *stopper) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause
}

// One-word reasons of an early stop, as the store records them.
const (
	stopStore    = "store"
	stopDisk     = "disk"
	stopInternal = "internal" // an error that nobody expected
)

func stopReason(err error) string {
	var stop *stopError
	if errors.As(err, &stop) {
		return stop.reason
	}
	return ""
}
