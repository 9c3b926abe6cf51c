package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"hermes-batch/testdata/leak"
)

// However a run ends, it leaves as many goroutines and open files in the
// process as it found.
func TestRunsLeaveNothing(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes files that nobody has any more
	asked := make(chan bool, 1000)
	b := newBench(t, func(a ask) (int, string) {
		asked <- true
		switch {
		case strings.HasPrefix(a.Prompt, "hold"):
			<-a.Gone
			return says("late")
		case strings.HasPrefix(a.Prompt, "refuse"):
			return 401, `{"error": {"message": "no"}}`
		case a.Turn == 0:
			return shell("echo x; sleep 300 & seq 40000")
		}
		return says("done")
	})
	var texts []string
	for i := range 20 {
		texts = append(texts, fmt.Sprint("prompt ", i))
	}
	workers := func(o *Options) { o.Workers = 8 }
	fresh := func(o *Options) { o.Overwrite = true }
	ways := []struct {
		name string
		run  func() error
	}{
		{"answers", func() error { b.prompts(texts...); return b.run(t.Context(), workers, fresh) }},
		{"resume of a complete run", func() error { return b.run(t.Context(), workers, resume) }},
		{"other settings", func() error { return refused(b.run(t.Context(), resume, maxTurns(2))) }},
		{"no dataset", func() error { return refused(b.run(t.Context(), resume, func(o *Options) { o.DatasetFile = "gone" })) }},
		{"no rows", func() error {
			b.dataset("bad", "")
			return refused(b.run(t.Context(), fresh))
		}},
		{"a work folder that is a file", func() error {
			b.prompts("a")
			writeFile(t, "file", "")
			return refused(b.run(t.Context(), fresh, func(o *Options) { o.WorkDir = "file/x" }))
		}},
		{"a refused key", func() error {
			b.prompts(append([]string{"refuse"}, texts...)...)
			if err := b.run(t.Context(), workers, fresh); !stopped(err) {
				return fmt.Errorf("it ended with %w", err)
			}
			return nil
		}},
		{"an interrupt", func() error {
			b.prompts("hold 1", "hold 2", "hold 3", "x")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for len(asked) > 0 {
				<-asked
			}
			go func() {
				for range 3 {
					<-asked
				}
				cancel()
			}()
			if err := b.run(ctx, workers, fresh, grace(time.Millisecond)); !errors.Is(err, ErrInterrupted) {
				return fmt.Errorf("it ended with %w", err)
			}
			return nil
		}},
		{"an interrupt before the start", func() error {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := b.run(ctx, resume); !errors.Is(err, ErrInterrupted) {
				return fmt.Errorf("it ended with %w", err)
			}
			return nil
		}},
		{"a damaged store", func() error {
			if err := os.Truncate(storeFile(), 5000); err != nil {
				return err
			}
			err := b.run(t.Context(), resume)
			if os.Remove(storeFile()); err == nil {
				return errors.New("it went on")
			}
			return nil
		}},
	}
	for round := range 2 { // the first one warms up
		for _, way := range ways {
			before := len(leak.Left())
			if err := way.run(); err != nil {
				t.Fatalf("%s: %v", way.name, err)
			}
			if round == 0 {
				continue
			}
			left := leak.Left()
			for end := time.Now().Add(10 * time.Second); len(left) > before && time.Now().Before(end); left = leak.Left() {
				time.Sleep(time.Millisecond)
			}
			if len(left) > before {
				t.Errorf("%s leaves %d goroutines and files, there were %d:\n%s", way.name, len(left), before, strings.Join(left, "\n"))
			}
		}
	}
}

// refused expects an error that a user is to mend.
func refused(err error) error {
	if errors.Is(err, ErrUsage) {
		return nil
	}
	return fmt.Errorf("it ended with %w", err)
}
