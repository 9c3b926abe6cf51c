package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"hermes-batch/testdata/shipped"
)

// death is what dies with the program.
type death int

const (
	alone  death = iota // its commands go on
	family              // all that it started
	housed              // that too, and the sandboxes are gone
	deaths
)

func (d death) String() string {
	return [...]string{"alone", "with its commands", "with its sandboxes"}[d]
}

// stepwise are the prompts whose way through a run is gone step by step, one
// after the other: commands with state, and file tools.
var stepwise = []int{8, 3}

// sequences kills a run between each pair of its steps: an attempt becomes
// durable, a sandbox is made, a turn becomes durable, a command starts and
// ends, its result and the outcome become durable, the sandbox is removed, the
// files are rendered. Then it kills the resume too, at any of its steps, which
// may be a rerun or a fork.
func (t *torment) sequences(ctx context.Context) error {
	s, err := t.site(stepwise, 1)
	if err != nil {
		return err
	}
	_, steps, err := s.traced(blow{})
	s.leave()
	if err != nil {
		return err
	}
	type way struct {
		n int // step, 0: within a command
		d death
	}
	var list []way
	for d := range deaths {
		for n := range len(steps) + 1 {
			list = append(list, way{n, d})
		}
	}
	t.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	slices.SortStableFunc(list, func(a, b way) int { return min(a.n, 1) - min(b.n, 1) }) // within a command first: there are few
	t.count.of = len(list)
	for _, w := range list {
		if t.enough(ctx) {
			break
		}
		t.count.points++
		if err := t.sequence(w.n, w.d, 1+t.random.IntN(len(steps))); err != nil {
			return err
		}
	}
	t.note("%d of %d sequences over %d steps and three kinds of death, the resume killed as well", t.count.points, len(list), len(steps))
	return nil
}

// sequence kills a run before its step n, or within its first command if that
// is 0, and the resume likewise.
func (t *torment) sequence(n int, d death, again int) error {
	s, err := t.site(stepwise, 1)
	if err != nil {
		return err
	}
	defer s.leave()
	where := ""
	for life, step := range []int{n, again} {
		if n == 0 {
			step = 0
		}
		name, err := s.end(step, life+1)
		if err != nil {
			return err
		}
		where = strings.TrimPrefix(fmt.Sprintf("%s, then killed %s %s", where, d, name), ", then ")
		s.bury(d)
		if err := s.died(where); err != nil {
			return err
		}
	}
	if err := s.complete(where); err != nil {
		return err
	}
	if n == 0 && d == alone && s.witness.reruns["0-0-a0"] > 0 {
		s.say(where, "the command ran again, although its supervisor had lived on")
	}
	return nil
}

// end lets the program run up to a step and kills it, and tells where that was.
func (s *site) end(step, life int) (string, error) {
	if step == 0 {
		return s.endInCommand(life)
	}
	_, calls, err := s.traced(blow{n: step})
	if err != nil {
		return "", err
	}
	if len(calls) < step {
		return "after the end", nil
	}
	return fmt.Sprintf("before step %d (%s)", step, calls[step-1]), nil
}

// endInCommand kills the program when the first command has begun that many
// times, or never begins again.
func (s *site) endInCommand(times int) (string, error) {
	c, err := s.start()
	if err != nil {
		return "", err
	}
	for !c.Within(time.Millisecond) {
		text, _ := os.ReadFile(s.outside("0"))
		if strings.Count(string(text), "\n") >= times {
			c.Kill()
			return "within a command", nil
		}
	}
	s.say("within a command", c.Wait().Wrong(0, 1)...)
	return "after the end", nil
}

// bury takes along what dies with the program.
func (s *site) bury(d death) {
	if d >= family {
		shipped.KillAll(s.dir)
	}
	if d == housed {
		s.removeSandbox()
	}
}
