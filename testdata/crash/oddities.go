package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"hermes-batch/testdata/shipped"
)

// odd are things that happen to a run and that nobody expects.
var odd = []struct {
	name string
	run  func(*site) error
}{
	{"stopped and continued", (*site).stopped},
	{"two programs", (*site).rivals},
	{"read-only folder", (*site).readOnly},
	{"folder renamed", (*site).renamed},
	{"folder removed", (*site).removed},
	{"disk gone", (*site).gone},
}

func (t *torment) oddities(ctx context.Context) error {
	for _, o := range odd {
		if ctx.Err() != nil {
			break
		}
		s, err := t.site(some(t.scale.prompts), 4)
		if err != nil {
			return err
		}
		t.count.points++
		err = o.run(s)
		s.leave()
		if errors.Is(err, errNoMount) {
			err = t.lacks(fmt.Errorf("%s: %w", o.name, err))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
	}
	return nil
}

// working starts the program and returns when it has asked the model a number
// of times.
func (s *site) working(requests int) (*shipped.Call, error) {
	c, err := s.start()
	if err != nil {
		return nil, err
	}
	for s.model.total() < requests {
		if c.Within(time.Millisecond) {
			return nil, fmt.Errorf("ended before %d requests: %v", requests, c.Wait())
		}
	}
	return c, nil
}

// stopped stops the program in the middle of its calls: when it goes on, none
// of them is taken for one that took too long.
func (s *site) stopped() error {
	const where = "stopped and continued"
	c, err := s.working(20)
	if err != nil {
		return err
	}
	for _, pause := range []time.Duration{s.t.scale.stop, s.t.scale.stop / 10} {
		if err := syscall.Kill(c.PID(), syscall.SIGSTOP); err != nil {
			return err
		}
		time.Sleep(pause)
		if err := syscall.Kill(c.PID(), syscall.SIGCONT); err != nil {
			return err
		}
		if c.Within(30 * time.Millisecond) {
			break
		}
	}
	if err := s.completed(where, c.Wait()); err != nil {
		return err
	}
	if _, again := s.model.tally(); again > 0 {
		s.say(where, fmt.Sprintf("%d turns were asked for again", again))
	}
	return nil
}

// secondWithin is how soon a second program is to say that the run is taken.
const secondWithin = 2 * time.Second

// rivals starts a second program on a run.
func (s *site) rivals() error {
	const where = "two programs"
	c, err := s.working(10)
	if err != nil {
		return err
	}
	if err := syscall.Kill(c.PID(), syscall.SIGSTOP); err != nil { // so that it does not end meanwhile
		return err
	}
	began := time.Now()
	second, err := s.start()
	if err != nil {
		return err
	}
	inTime := second.Within(secondWithin)
	e := second.Wait()
	if err := syscall.Kill(c.PID(), syscall.SIGCONT); err != nil {
		return err
	}
	s.say(where, e.Wrong(exitStopped)...)
	if !inTime {
		s.say(where, fmt.Sprintf("the second took %s", time.Since(began)))
	}
	if !strings.Contains(e.Text, fmt.Sprintf("process %d ", c.PID())) {
		s.say(where, "the second does not name the first: "+e.String())
	}
	return s.completed(where, c.Wait())
}

// readOnly lets a run begin, and later go on, where it cannot write.
func (s *site) readOnly() error {
	d, err := s.mount(ample)
	if err != nil {
		return err
	}
	defer d.end()
	refused := func(where string) error {
		if err := d.remount("ro"); err != nil {
			return err
		}
		c, err := s.start()
		if err != nil {
			return err
		}
		s.say(where, c.Wait().Wrong(2, exitStopped)...)
		if err := s.died(where); err != nil {
			return err
		}
		return d.remount("rw")
	}
	if err := refused("read-only folder"); err != nil {
		return err
	}
	c, err := s.working(20)
	if err != nil {
		return err
	}
	c.Kill()
	if err := s.died("killed"); err != nil {
		return err
	}
	if err := refused("read-only folder of a run that was begun"); err != nil {
		return err
	}
	return s.complete("read-only folder")
}

// away gives the folder of a run that works another name.
func (s *site) away() (c *shipped.Call, name string, err error) {
	if c, err = s.working(20); err != nil {
		return nil, "", err
	}
	name = s.folder() + ".away"
	return c, name, os.Rename(s.folder(), name)
}

// renamed takes the folder away from a run, and gives it back.
func (s *site) renamed() error {
	const where = "folder renamed"
	c, away, err := s.away()
	if err != nil {
		return err
	}
	s.say(where, c.Wait().Wrong(exitStopped)...)
	if err := os.RemoveAll(s.folder()); err != nil { // what it may have made there
		return err
	}
	if err := os.Rename(away, s.folder()); err != nil {
		return err
	}
	if err := s.died(where); err != nil {
		return err
	}
	return s.complete(where + " and back")
}

// removed takes the folder away for good: the next run is a new one.
func (s *site) removed() error {
	const where = "folder removed"
	c, away, err := s.away() // where the program puts nothing more into it
	if err != nil {
		return err
	}
	if err := os.RemoveAll(away); err != nil {
		return err
	}
	return s.anew(where, c)
}

// gone takes the whole disk away.
func (s *site) gone() error {
	d, err := s.mount(ample)
	if err != nil {
		return err
	}
	defer d.end()
	c, err := s.working(20)
	if err != nil {
		return err
	}
	if err := d.do("umount", "-l", d.path); err != nil {
		return err
	}
	return s.anew("disk gone", c)
}

// anew expects a run to stop that has lost its store, and makes another one.
// What commands of the first have left is not of that one.
func (s *site) anew(where string, c *shipped.Call) error {
	s.say(where, c.Wait().Wrong(exitStopped)...)
	shipped.KillAll(s.dir)
	for _, name := range []string{"state", "outside"} {
		if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
			return err
		}
	}
	if err := os.Mkdir(s.outside(), 0o777); err != nil {
		return err
	}
	s.deaths += len(s.kinds) // all of its turns are asked for again
	return s.complete(where + ", then a new run")
}
