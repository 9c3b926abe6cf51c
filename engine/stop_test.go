package engine

import (
	"context"
	"testing"
)

// cancelled is a context that ends when a channel is sent to.
func cancelled(t *testing.T, on <-chan bool) (context.Context, func()) {
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		select {
		case <-on:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
