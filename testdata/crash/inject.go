package main

import (
	"context"
	"fmt"
	"strings"
	"syscall"
)

// injected are the prompts of runs that are disturbed at their system calls:
// few, so that there is time for each call.
var injected = []int{0, 1, 3, 5, 6, 7}

// variants are the ways in which a call is disturbed.
var variants = []blow{
	{}, {after: true},
	{errno: syscall.EIO}, {errno: syscall.ENOSPC},
	{errno: syscall.EIO, on: true}, {errno: syscall.ENOSPC, on: true},
}

// inject kills the program at its nth sync, write, rename and so on, or lets
// that call fail, for each n that an undisturbed run has. It does so in random
// order, since there may be no time for all.
func (t *torment) inject(ctx context.Context) error {
	blows, err := t.blows()
	if err != nil {
		return err
	}
	t.random.Shuffle(len(blows), func(i, j int) { blows[i], blows[j] = blows[j], blows[i] })
	t.count.of = len(blows)
	hit := 0
	for _, b := range blows {
		if t.enough(ctx) {
			break
		}
		landed, err := t.strikeCall(b)
		if err != nil {
			return fmt.Errorf("%s: %w", b, err)
		}
		if t.count.points++; landed {
			hit++
		}
	}
	t.note("%d of %d injection points, %d of them reached", t.count.points, len(blows), hit)
	return nil
}

// blows are all that can be done to a run, up to two calls after its last of
// each kind.
func (t *torment) blows() (list []blow, err error) {
	s, err := t.site(injected, 2)
	if err != nil {
		return nil, err
	}
	defer s.leave()
	e, calls, err := s.traced(blow{})
	if err != nil {
		return nil, err
	}
	if wrong := e.Wrong(0, 1); len(wrong) > 0 {
		return nil, fmt.Errorf("undisturbed run: %s", wrong)
	}
	times := map[met]int{}
	for _, c := range calls {
		times[met{op: c.op, area: c.area}]++
	}
	var counted []string
	for _, o := range ops {
		for _, area := range []string{"", store, files, sandbox} {
			n := times[met{op: o.name, area: area}]
			if n == 0 {
				continue
			}
			counted = append(counted, strings.TrimSpace(fmt.Sprintf("%d × %s %s", n, o.name, area)))
			for n := range n + 2 {
				for _, b := range variants {
					b.op, b.area, b.n = o.name, area, n+1
					list = append(list, b)
				}
			}
		}
	}
	t.note("an undisturbed run has %s", strings.Join(counted, ", "))
	return list, nil
}

// strikeCall disturbs a run at one call, perhaps disturbs the resume as well,
// and lets it come to its end.
func (t *torment) strikeCall(b blow) (landed bool, err error) {
	s, err := t.site(injected, 2)
	if err != nil {
		return false, err
	}
	defer s.leave()
	s.may.rows = b.errno != 0 && b.area == sandbox
	where := b.String()
	landed, err = s.hit(where, b)
	if err != nil {
		return landed, err
	}
	if t.random.IntN(2) == 0 { // the resume
		b.n = 1 + t.random.IntN(b.n)
		where += ", then " + b.String()
		if _, err := s.hit(where, b); err != nil {
			return landed, err
		}
	}
	return landed, s.complete(where)
}

// hit runs the program under a blow.
func (s *site) hit(where string, b blow) (landed bool, err error) {
	e, calls, err := s.traced(b)
	if err != nil {
		return false, err
	}
	if e.By != syscall.SIGKILL {
		s.say(where, e.Wrong(0, 1, 2, 3)...)
	}
	return len(calls) >= b.n, s.died(where)
}
