package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"time"
)

// exitStopped is the exit code of a run that stopped early.
const exitStopped = 3

// scenarios in the order in which they run, with their share of the time.
var scenarios = []scenario{
	{"kills", 25, (*torment).kills},
	{"sequences", 15, (*torment).sequences},
	{"inject", 25, (*torment).inject},
	{"full", 10, (*torment).full},
	{"limits", 5, (*torment).limits},
	{"oddities", 5, (*torment).oddities},
	{"power", 15, (*torment).power},
}

type scenario struct {
	name  string
	share int
	run   func(*torment, context.Context) error
}

func names() (list []string) {
	for _, s := range scenarios {
		list = append(list, s.name)
	}
	return list
}

// scale says how much is done. A number that is 0 has no bound but the time.
type scale struct {
	time    time.Duration
	kills   int
	prompts int           // of a run
	points  int           // that are disturbed
	all     bool          // of them, however long that takes
	sizes   int           // of disks
	stop    time.Duration // how long a program stays stopped
	states  int           // of disks after a power cut
	short   bool          // a short run is cut off from power
}

func (o *options) scale() scale {
	s := scale{time: o.time, kills: o.kills, prompts: 24, sizes: 60, stop: 3 * time.Second, states: 5_000, short: true}
	if o.long {
		s.all, s.stop, s.states, s.short = true, time.Minute, 20_000, false
	}
	return s
}

// torment is one run of the harness.
type torment struct {
	dir     string
	binary  string
	scale   scale
	keep    bool
	latency time.Duration // of the model
	seed    uint64
	random  *rand.Rand
	log     io.Writer

	sites    int                 // made so far
	calms    map[string]*calmRun // by dataset
	deadline time.Time           // of the present scenario
	count    count               // of the present scenario
	counts   []count
}

// count is what a scenario has done.
type count struct {
	name          string
	took          time.Duration
	runs          int
	deaths        int // of the program, by a signal or an error
	points        int // that were disturbed: system calls, steps, sizes, limits
	of            int // that there are, 0 if that is no number
	turns, again  int // answered, and answered once more
	reruns, forks int
	control       int // violations where there have to be some
	notes         []string
	violations    []string
}

func newTorment(dir, binary string, seed uint64, log io.Writer) *torment {
	return &torment{dir: dir, binary: binary, latency: 2 * time.Millisecond, seed: seed, random: rand.New(rand.NewPCG(seed, 0)), log: log, calms: map[string]*calmRun{}}
}

// run runs scenarios. One that cannot run is an error, and so are violations.
func (t *torment) run(ctx context.Context, only *regexp.Regexp) error {
	var chosen []scenario
	shares := 0
	for _, s := range scenarios {
		if only.MatchString(s.name) {
			chosen = append(chosen, s)
			shares += s.share
		}
	}
	var failed []error
	for _, s := range chosen {
		if ctx.Err() != nil {
			break
		}
		began := time.Now()
		t.count = count{name: s.name}
		t.random = rand.New(rand.NewPCG(t.seed, 0)) // the same alone as with others before it
		t.deadline = began.Add(t.scale.time * time.Duration(s.share) / time.Duration(shares))
		if err := s.run(t, ctx); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", s.name, err))
		}
		t.count.took = time.Since(began)
		if n := len(t.count.violations); n > 0 {
			failed = append(failed, fmt.Errorf("%s: %d %w", s.name, n, errViolated))
		}
		t.counts = append(t.counts, t.count)
		fmt.Fprintf(t.log, "%-10s %.0f s\n", s.name, t.count.took.Seconds())
	}
	return errors.Join(append(failed, context.Cause(ctx))...)
}

// enough tells whether a scenario has disturbed as many points as it is to, or
// has had its time.
func (t *torment) enough(ctx context.Context) bool {
	switch {
	case ctx.Err() != nil:
		return true
	case t.scale.all:
		return false
	case t.scale.points > 0:
		return t.count.points >= t.scale.points
	}
	return time.Now().After(t.deadline)
}

func (t *torment) violate(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	fmt.Fprintf(t.log, "VIOLATION %s: %s\n", t.count.name, text)
	t.count.violations = append(t.count.violations, text)
}

func (t *torment) note(format string, args ...any) {
	t.count.notes = append(t.count.notes, fmt.Sprintf(format, args...))
}
