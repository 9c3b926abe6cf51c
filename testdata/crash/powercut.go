package main

import (
	"context"
	"errors"
	"strings"

	"hermes-batch/testdata/crash/power"
)

// power simulates power cuts, in package power. Its controls have to find
// what is wrong with disks that sync nothing.
func (t *torment) power(ctx context.Context) error {
	r, err := power.Run(ctx, power.Config{
		Binary: t.binary, Dir: t.dir, Seed: t.random.Uint64(), Quick: t.scale.short,
		States: t.scale.states, Resumes: min(36, 1+t.scale.states/50),
	})
	if errors.Is(err, power.ErrNoStrace) {
		return t.lacks(err)
	}
	if err != nil {
		return err
	}
	t.count.runs, t.count.points, t.count.deaths = 1, r.States, r.Resumes
	for _, v := range r.Violations {
		t.violate("%s\n    seed %d, recording in %s", v, r.Seed, r.Recording)
	}
	for _, c := range r.Controls {
		t.count.control += c.Violations
		if c.Violations == 0 {
			t.violate("the control finds nothing: %s", c.Name)
		}
	}
	var text strings.Builder
	r.Print(&text)
	t.note("%s", strings.TrimSpace(text.String()))
	return nil
}
