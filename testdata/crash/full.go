package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// filling are the prompts of runs that fill a disk: all kinds, and more long ones.
var filling = append(some(len(ways)), 12, 12, 12, 12, 12, 12)

const (
	smallest = 16       // KB
	ample    = 64 << 10 // KB
)

// full lets runs meet the end of their disk, at sizes from nearly nothing to
// enough, then gives them more and lets them go on.
func (t *torment) full(ctx context.Context) error {
	like, err := t.site(filling, 4)
	if err != nil {
		return err
	}
	defer like.leave()
	calm, err := t.calm(like)
	if err != nil {
		return err
	}
	largest := calm.kb * 5 / 4
	early := 0
	for _, i := range t.random.Perm(t.scale.sizes) {
		if t.enough(ctx) {
			break
		}
		kb := smallest + (largest-smallest)*i/t.scale.sizes
		stopped, err := t.fill(kb)
		if errors.Is(err, errNoMount) {
			return t.lacks(err)
		}
		if err != nil {
			return err
		}
		if t.count.points++; stopped {
			early++
		}
	}
	t.note("%d sizes of the disk, from %d to %d KB; it was too small %d times", t.count.points, smallest, largest, early)
	return nil
}

// fill makes a run on a disk of that size.
func (t *torment) fill(kb int) (stopped bool, err error) {
	s, err := t.site(filling, 4)
	if err != nil {
		return false, err
	}
	defer s.leave()
	d, err := s.mount(kb)
	if err != nil {
		return false, err
	}
	defer d.end()
	where := fmt.Sprintf("disk of %d KB", kb)
	c, err := s.start()
	if err != nil {
		return false, err
	}
	e := c.Wait()
	s.say(where, e.Wrong(0, 1, exitStopped)...)
	if err := s.died(where); err != nil {
		return false, err
	}
	if err := d.remount(fmt.Sprintf("size=%dk", ample)); err != nil {
		return false, err
	}
	return e.Code == exitStopped, s.complete(where + ", then enough")
}

// lacks says that something is missing here, which is an error where everything
// has to be there.
func (t *torment) lacks(what error) error {
	if os.Getenv("CI") != "" {
		return what
	}
	t.note("left out: %v", what)
	return nil
}
