package engine

import (
	"maps"
	"slices"
	"sync"
	"time"

	"hermes-batch/db"
)

// Progress counts what a run has done and is doing. Safe for concurrent use.
type Progress struct {
	mu       sync.Mutex
	now      func() time.Time
	judge    func(db.OutcomeHead) string
	started  time.Time
	total    int
	verdicts map[string]int
	plan     db.Indices
	over     db.Indices // prompts that have an outcome and are not due
	flight   map[db.Ordinal]*flight
	finished int // by this session
	so       tallied
	turns    int
	retries  int
	usage    db.Usage
}

// flight is a prompt that a worker has in hand.
type flight struct {
	began time.Time
	turns int
}

// Snapshot is the state of a run at one moment.
type Snapshot struct {
	Total, Done int            // prompts of the plan and finished ones outside it, over all sessions
	Verdicts    map[string]int // of the done ones
	DoneNow     int            // by this session of the program
	Turns       int            // model turns of this session
	Retries     int            // requests beyond one a turn, of this session
	Usage       db.Usage       // of this session
	Elapsed     time.Duration  // of this session
	InFlight    []InFlight     // longest first
}

// InFlight is a prompt that a worker has in hand.
type InFlight struct {
	Index int
	Turns int
	For   time.Duration
}

// newProgress counts what earlier sessions did.
func newProgress(r *Run) (*Progress, error) {
	p := &Progress{now: r.now, judge: r.deps.Judge, started: r.now(), verdicts: map[string]int{},
		flight: map[db.Ordinal]*flight{}}
	if p.judge == nil {
		p.judge = func(h db.OutcomeHead) string { return h.End }
	}
	plan, _, err := r.store.Plan()
	if err != nil {
		return nil, err
	}
	if p.plan, err = r.store.Planned(); err != nil {
		return nil, err
	}
	p.total = plan.Rows
	var open []db.OutcomeHead // of the plan, ended without an answer
	err = r.store.OutcomeHeads(0, func(h db.OutcomeHead) bool {
		planned := p.plan.Has(h.Ordinal.Index())
		switch {
		case planned && r.o.due(h), !planned && h.End == db.EndFailed: // again, or nobody waits for it
		case planned && h.End != db.EndCompleted:
			open = append(open, h)
		default:
			if !planned {
				p.total++
			}
			p.isOver(h)
		}
		return true
	})
	for _, h := range open {
		if err != nil {
			break
		}
		var going bool
		if going, err = goesOn(r.store, h.Ordinal); !going {
			p.isOver(h)
		}
	}
	return p, err
}

// goesOn tells whether a prompt with an outcome was being tried again when an
// earlier session of the program ended.
func goesOn(store *db.Store, ord db.Ordinal) (bool, error) {
	out, found, err := store.Outcome(ord)
	if err != nil || !found {
		return false, err
	}
	return store.WentOn(ord, out)
}

// isOver counts an outcome of an earlier session.
func (p *Progress) isOver(h db.OutcomeHead) {
	p.over.Add(h.Ordinal.Index())
	p.verdicts[p.judge(h)]++
}

// planned tells whether a prompt is in the present plan.
func (p *Progress) planned(ord db.Ordinal) bool { return p.plan.Has(ord.Index()) }

// pending tells whether a prompt is still to be worked on.
func (p *Progress) pending(ord db.Ordinal) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.over.Has(ord.Index())
}

func (p *Progress) begin(ord db.Ordinal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flight[ord] = &flight{began: p.now()}
}

func (p *Progress) leave(ord db.Ordinal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.flight, ord)
}

func (p *Progress) turn(ord db.Ordinal, t *db.Turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turns++
	p.retries += max(t.Tries-1, 0)
	p.usage = p.usage.Add(t.Usage)
	if f := p.flight[ord]; f != nil {
		f.turns++
	}
}

// rejected counts a reply that was paid for and is no turn.
func (p *Progress) rejected(r *db.Rejected) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.usage = p.usage.Add(r.Usage)
}

// gaveUp counts the requests of a call that got no reply.
func (p *Progress) gaveUp(tries int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retries += max(tries-1, 0)
}

// tallied is what the user may have to be told about.
type tallied struct {
	discarded int // in a row, none kept between
	failed    int // by this session
}

// finish counts an outcome.
func (p *Progress) finish(ord db.Ordinal, out *db.Outcome) tallied {
	p.mu.Lock()
	defer p.mu.Unlock()
	verdict := p.judge(db.HeadOf(ord, out))
	p.over.Add(ord.Index())
	p.verdicts[verdict]++
	p.finished++
	switch verdict {
	case "kept":
		p.so.discarded = 0
	case "discarded":
		p.so.discarded++
	case "failed":
		p.so.failed++
	}
	return p.so
}

// Snapshot is the present state.
func (p *Progress) Snapshot() Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	s := Snapshot{Total: p.total, Verdicts: maps.Clone(p.verdicts), DoneNow: p.finished, Turns: p.turns,
		Retries: p.retries, Usage: p.usage, Elapsed: now.Sub(p.started)}
	for _, n := range p.verdicts {
		s.Done += n
	}
	for ord, f := range p.flight {
		s.InFlight = append(s.InFlight, InFlight{ord.Index(), f.turns, now.Sub(f.began)})
	}
	slices.SortFunc(s.InFlight, func(a, b InFlight) int {
		if a.For != b.For {
			return int(b.For - a.For)
		}
		return a.Index - b.Index
	})
	return s
}
