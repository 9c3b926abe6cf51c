package power

import (
	"context"
	"errors"
	"sync"
)

// controlStates is how many states a control looks at.
const controlStates = 240

// storeError is a store that does not open or contradicts itself.
type storeError struct{ error }

func (e storeError) Unwrap() error { return e.error }

// controls looks at the main recording as if the program had synced less.
func (s *simulation) controls(ctx context.Context) error {
	main := s.plans[0]
	for _, c := range []struct {
		name string
		syncs
	}{{"no sync", noSyncs}, {"no sync of folders", noFolderSyncs}} {
		main.r.settle(c.syncs)
		count, err := s.control(ctx, main)
		main.r.settle(allSyncs)
		if err != nil {
			return err
		}
		count.Name = c.name
		s.report.Controls = append(s.report.Controls, count)
	}
	return nil
}

func (s *simulation) control(ctx context.Context, main *plan) (Control, error) {
	var mu sync.Mutex
	var c Control
	points := main.r.points()
	part := &plan{scenario: main.scenario, dir: main.dir, r: main.r}
	for i := range controlStates {
		at := points[i*len(points)/controlStates]
		if list := main.r.states(at, len(ways), s.Seed); len(list) > 0 {
			part.states = append(part.states, list[i%len(list)])
		}
	}
	look := &simulation{Config: s.Config, dir: s.dir, plans: []*plan{part}}
	err := look.chunks(ctx, func(_ *plan, states []*state, j *judge) error {
		for _, st := range states {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			err := j.check(st)
			mu.Lock()
			c.States++
			if err != nil {
				c.Violations++
			}
			if errors.As(err, &storeError{}) {
				c.Damaged++
			}
			mu.Unlock()
		}
		return nil
	})
	return c, err
}
