package engine

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Rendering in the background takes a twentieth of the time at most, and ends
// with the work.
func TestRenderingIsRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var times []time.Duration
		began, slow := time.Now(), time.Duration(0)
		r := &Run{deps: Deps{Render: func(context.Context) error {
			times = append(times, time.Since(began))
			time.Sleep(slow)
			slow += 10 * time.Second
			return nil
		}}}
		var ctx context.Context
		r.stop, ctx = newStopper(t.Context(), 0)
		done := r.render(ctx)
		time.Sleep(10 * time.Minute)
		r.stop.begin(ErrInterrupted)
		<-done
		// 0 s, 10 s, 20 s of work; pauses of 1 s, 200 s, 400 s
		if want := []time.Duration{time.Second, 2 * time.Second, 212 * time.Second}; !slices.Equal(times, want) {
			t.Errorf("rendered at %v, want %v", times, want)
		}
	})
}
