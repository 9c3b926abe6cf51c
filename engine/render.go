package engine

import (
	"context"
	"time"
)

const (
	// renderShare bounds background rendering to a twentieth of the time.
	renderShare = 20
	// renderPause is the least time between two renderings.
	renderPause = time.Second
)

// render brings output files up to date until ctx ends; the channel closes
// when it has stopped.
func (r *Run) render(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if r.deps.Render == nil {
			return
		}
		told := ""
		for pause := renderPause; ; {
			select {
			case <-ctx.Done():
				return
			case <-r.stop.soft:
				return
			case <-time.After(pause):
			}
			began := time.Now()
			if err := r.deps.Render(ctx); err != nil && ctx.Err() == nil && err.Error() != told {
				told = err.Error()
				r.log.Warn("output files are behind", "error", r.mask.text(told))
			}
			pause = max(renderPause, renderShare*time.Since(began))
		}
	}()
	return done
}
