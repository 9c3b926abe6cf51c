package power

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ErrNoStrace is returned where calls of the program cannot be recorded.
var ErrNoStrace = errors.New("no usable strace")

// Config says what is simulated. The zero value of a number is its default.
type Config struct {
	Binary string // program, as it was built
	Dir    string // for the recording and copies of the disk; "" is the system's temporary folder
	Seed   uint64 // of the choice of states
	States int    // how many at least; 20,000
	Quick  bool   // short recordings: seconds in place of a minute

	// Resumes is how many states the program itself has to check and to go on
	// from, with everything compared to a run without interruption; 36, and
	// none if it is negative.
	Resumes int

	// Recording is the folder of an earlier recording, which a Report with
	// violations names. Its states are the same for the same Seed and States.
	// Binary is then needed only to go on from one.
	Recording string
	Only      int       // with a Recording: the number of the one state to look at; 0 is all
	Log       io.Writer // progress; nil is nowhere
}

func (c Config) filled() Config {
	c.States = cmp.Or(c.States, 20_000)
	c.Resumes = cmp.Or(c.Resumes, 36)
	if c.Log == nil {
		c.Log = io.Discard
	}
	return c
}

// simulation is one Run.
type simulation struct {
	Config
	dir     string
	program program
	plans   []*plan
	report  Report
	mu      sync.Mutex
}

// plan is the states of one scenario.
type plan struct {
	scenario
	dir    string
	r      *recording
	share  float64 // of all states
	states []*state
}

// shares are how many of the states each scenario gets.
var shares = map[string]float64{"main": 0.72, "ingest": 0.06, "short": 0.1, "overwrite": 0.12}

// Run records the program and looks at what power cuts may leave. A state that
// the program must not leave is a violation in the report and no error. The
// recording is removed unless there are violations.
func Run(ctx context.Context, c Config) (Report, error) {
	began := time.Now()
	s := &simulation{Config: c.filled()}
	s.report = Report{Seed: s.Seed, Phases: map[string]Count{}}
	err := s.prepare()
	if err == nil {
		err = s.run(ctx)
	}
	s.report.Took = time.Since(began)
	if s.dir != "" && s.Recording == "" {
		if len(s.report.Violations) > 0 || err != nil {
			s.report.Recording = s.dir
		} else {
			err = os.RemoveAll(s.dir)
		}
	}
	return s.report, err
}

// prepare finds the tools and the folder.
func (s *simulation) prepare() (err error) {
	if s.program.path, err = filepath.Abs(s.Binary); err != nil {
		return err
	}
	if s.Recording != "" {
		s.dir, err = filepath.Abs(s.Recording)
		return err
	}
	if s.program.strace, err = findStrace(); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp(s.Dir, "power-"); err != nil {
		return err
	}
	s.dir, err = filepath.EvalSymlinks(s.dir)
	return err
}

func (s *simulation) run(ctx context.Context) error {
	if err := s.record(ctx); err != nil {
		return err
	}
	s.draw()
	if s.Recording != "" && s.Only > 0 {
		return s.one(ctx)
	}
	if err := s.judge(ctx); err != nil {
		return err
	}
	if s.Recording != "" {
		return nil
	}
	if err := s.controls(ctx); err != nil {
		return err
	}
	return s.resumes(ctx)
}

// kind is the file beside a recording that says how it was made.
const kind = "recording.json"

// record makes the recordings, or reads earlier ones.
func (s *simulation) record(ctx context.Context) error {
	file := filepath.Join(s.dir, kind)
	if s.Recording != "" {
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &s.Quick)
		}
		if err != nil {
			return err
		}
	} else if err := writeFile(file, fmt.Append(nil, s.Quick)); err != nil {
		return err
	}
	list, err := scenarios(s.dir, s.Quick)
	if err != nil {
		return err
	}
	for _, sc := range list {
		p := &plan{scenario: sc, dir: filepath.Join(s.dir, sc.Name), share: shares[sc.Name]}
		began := time.Now()
		if s.Recording == "" {
			if err := s.program.record(ctx, sc, p.dir, s.Quick); err != nil {
				return err
			}
		}
		if p.r, err = sc.read(p.dir); err != nil {
			return fmt.Errorf("recording of %s: %w", sc.Name, err)
		}
		p.r.settle(allSyncs)
		s.plans = append(s.plans, p)
		fmt.Fprintf(s.Log, "recorded %s: %d operations, %d syncs, %d promises, %d points in %.1f s\n", sc.Name, len(p.r.ops),
			len(p.r.barriers), len(p.r.acks), len(p.r.points()), time.Since(began).Seconds())
	}
	return nil
}

// draw draws the states of all scenarios and numbers them, from 1 on.
func (s *simulation) draw() {
	n := 0
	for _, p := range s.plans {
		p.states = p.r.all(int(p.share*float64(s.States))+1, s.Seed)
		for _, st := range p.states {
			n++
			st.number = n
		}
	}
	s.report.States = n
}

// mostTries bounds the attempts to find enough different states.
const mostTries = 6

// all draws about so many states, evenly over all points, and not fewer if
// there are that many.
func (r *recording) all(want int, seed uint64) (list []*state) {
	points := r.points()
	for each, tries := want/len(points), 0; tries < mostTries; tries++ {
		list = list[:0]
		for i, at := range points {
			most := max(each*weight(at.phase), 1)
			if each == 0 && i*want/len(points) == (i+1)*want/len(points) {
				continue
			}
			list = append(list, r.states(at, most, seed)...)
		}
		if len(list) >= want {
			break
		}
		each = each*want/max(len(list), 1) + 1
	}
	return list
}

// weight gives phases that are short more states.
func weight(phase string) int {
	switch phase {
	case phaseCreate:
		return 16
	case phaseRender, phaseExport:
		return 4
	}
	return 1
}

// chunk is how many states are looked at one after the other, with one image
// of each store.
const chunk = 250

// judge looks at all states, on all processors.
func (s *simulation) judge(ctx context.Context) error {
	var opened, done atomic.Int64
	err := s.chunks(ctx, func(p *plan, states []*state, j *judge) error {
		for _, st := range states {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.count(p, st, j.check(st))
			if n := done.Add(1); n%2000 == 0 {
				fmt.Fprintf(s.Log, "%d of %d states\n", n, s.report.States)
			}
		}
		opened.Add(int64(j.opened()))
		return nil
	})
	s.report.Opened = int(opened.Load())
	slices.SortFunc(s.report.Violations, func(a, b Violation) int { return cmp.Compare(a.State, b.State) })
	return err
}

// chunks calls fn with all states, in parts and side by side.
func (s *simulation) chunks(ctx context.Context, fn func(*plan, []*state, *judge) error) error {
	type part struct {
		p      *plan
		states []*state
	}
	due := make(chan part)
	errs := make(chan error, runtime.GOMAXPROCS(0))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range cap(errs) {
		go func() {
			for d := range due {
				if err := s.inFolder(func(dir string) error {
					j := newJudge(d.p.r, dir)
					defer j.close()
					return fn(d.p, d.states, j)
				}); err != nil {
					cancel()
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for _, p := range s.plans {
		for states := range slices.Chunk(p.states, chunk) {
			select {
			case due <- part{p, states}:
			case <-ctx.Done():
			}
		}
	}
	close(due)
	var all []error
	for range cap(errs) {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

// inFolder calls fn with a folder of its own.
func (s *simulation) inFolder(fn func(dir string) error) error {
	dir, err := os.MkdirTemp(s.dir, "disk-")
	if err != nil {
		return err
	}
	return errors.Join(fn(dir), os.RemoveAll(dir))
}

// count notes what became of a state.
func (s *simulation) count(p *plan, st *state, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.report.Phases[st.point.phase]
	c.States++
	if err != nil {
		c.Violations++
		s.report.Violations = append(s.report.Violations, Violation{State: st.number, Scenario: p.Name, Phase: st.point.phase,
			Line: st.point.line, How: st.how, What: err.Error()})
	}
	s.report.Phases[st.point.phase] = c
}

// one looks at a single state, and leaves it in the recording's folder. With a
// program, it goes on from it as well.
func (s *simulation) one(ctx context.Context) error {
	for _, p := range s.plans {
		for _, st := range p.states {
			if st.number != s.Only {
				continue
			}
			s.report.States = 1
			left := filepath.Join(s.dir, fmt.Sprintf("state-%d", st.number))
			if err := st.materialise(p.r, left); err != nil {
				return err
			}
			fmt.Fprintf(s.Log, "state %d lies in %s\n", st.number, left)
			err := s.inFolder(func(dir string) error {
				j := newJudge(p.r, dir)
				defer j.close()
				s.count(p, st, j.check(st))
				return nil
			})
			if err != nil || s.Binary == "" {
				return err
			}
			rows, err := s.calm(ctx, p)
			if err == nil {
				s.tryResume(ctx, p, st, rows)
			}
			return err
		}
	}
	return fmt.Errorf("there is no state %d", s.Only)
}
