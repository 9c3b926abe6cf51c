package main

import (
	"context"
	"fmt"
)

// ulimits are what the shell is told.
var ulimits = []string{
	"-f 8", "-f 2000", "-f 8300", "-f 8320", "-f 9000", // of a file, in half KB
	"-n 12", "-n 16", "-n 24", "-n 40", // open files
	"-v 1000000", // KB of address space
}

// limits lets runs meet limits of the shell, and then lets them go on without.
func (t *torment) limits(ctx context.Context) error {
	for _, n := range t.random.Perm(len(ulimits)) {
		if ctx.Err() != nil || t.scale.points > 0 && t.count.points == t.scale.points {
			break
		}
		t.count.points++
		if err := t.limit(ulimits[n]); err != nil {
			return fmt.Errorf("ulimit %s: %w", ulimits[n], err)
		}
	}
	return nil
}

func (t *torment) limit(limit string) error {
	s, err := t.site(filling, 4)
	if err != nil {
		return err
	}
	defer s.leave()
	where := "ulimit " + limit
	s.may.rows = true // commands have the limit too
	s.wrap = []string{"sh", "-c", where + ` && exec "$0" "$@"`}
	c, err := s.start()
	if err != nil {
		return err
	}
	e := c.Wait()
	s.say(where, e.Wrong(0, 1, exitStopped)...)
	s.wrap = nil
	if err := s.died(where); err != nil {
		return err
	}
	return s.complete(where + ", then none")
}
