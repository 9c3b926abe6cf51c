package export

import (
	"math"
	"slices"
	"sort"

	"hermes-batch/db"
)

// tally is what a renderer knows of one batch.
type tally struct {
	planned, answered                 uint32 // rows of the plan, and those of them with an outcome
	kept, filtered, discarded, failed uint32
	completed, partial                uint32 // of the finished ones
	digest                            uint64 // of the outcomes that were counted
	rendered                          uint64 // digest that the batch's file is known to show
	latest                            int64  // time of the last outcome, ns since 1970
}

func (t *tally) rows() uint32     { return t.kept + t.filtered }
func (t *tally) finished() uint32 { return t.kept + t.filtered + t.discarded }
func (t *tally) full() bool       { return t.answered == t.planned && t.digest != 0 }
func (t *tally) dirty() bool      { return t.digest != t.rendered }

// settled batches change no more while a run goes on, unless an incomplete
// prompt in them is tried again; a scan of all outcomes sees that.
func (t *tally) settled() bool { return t.answered == t.planned && t.failed == 0 }

// ledger counts the outcomes of a store by batch. It is brought up to date from
// their heads, and only batches that are not settled are looked at again.
type ledger struct {
	store   *db.Store
	filters Filters

	source  db.Plan
	regs    []db.Registration
	plan    planned
	size    int // prompts that have a batch
	batches []tally
	whole   db.Indices // prompts all of whose rollouts are finished
}

// reload starts the ledger anew if the plan or the registrations have changed,
// and tells whether it did.
func (l *ledger) reload() (bool, error) {
	source, _, err := l.store.Plan()
	if err != nil {
		return false, err
	}
	regs, err := l.store.Registrations()
	if err != nil {
		return false, err
	}
	registered, err := l.store.NextIndex()
	if err != nil {
		return false, err
	}
	size := sort.Search(registered, func(i int) bool { return l.store.BatchOf(i) < 0 })
	if l.whole != nil && source == l.source && size == l.size && slices.Equal(regs, l.regs) {
		return false, nil
	}
	plan, err := readPlan(l.store)
	if err != nil {
		return false, err
	}
	l.source, l.regs, l.size, l.plan = source, regs, size, plan
	l.whole = db.Indices{}
	l.batches = make([]tally, l.store.BatchOf(size-1)+1)
	for index := range size {
		if plan.Has(index) {
			l.batches[l.store.BatchOf(index)].planned++
		}
	}
	return true, nil
}

// first is the index of a batch's first prompt; that of the batch after the
// last is the number of prompts.
func (l *ledger) first(batch int) int {
	if batch >= len(l.batches) {
		return l.size
	}
	n := len(l.regs) - 1
	for l.regs[n].Batch > batch {
		n--
	}
	return l.regs[n].First + (batch-l.regs[n].Batch)*l.regs[n].Size
}

// span is the places of a batch's rows, from the first to before the second.
func (l *ledger) span(batch int) (from, to db.Ordinal) {
	return db.MakeOrdinal(l.first(batch), 0), db.MakeOrdinal(l.first(batch+1), 0)
}

// refresh counts the outcomes of all batches, or only of those not settled.
func (l *ledger) refresh(all bool) error {
	due := func(b int) bool { return all || !l.batches[b].settled() }
	for b := 0; b < len(l.batches); b++ {
		if !due(b) {
			continue
		}
		from, _ := l.span(b)
		current, stopped := -1, len(l.batches)
		err := l.store.OutcomeHeads(from, func(h db.OutcomeHead) bool {
			at := l.store.BatchOf(h.Ordinal.Index())
			if at < 0 || at >= len(l.batches) {
				stopped = len(l.batches)
				return false
			}
			if at != current {
				if !due(at) {
					stopped = at
					return false
				}
				current = at
				l.reset(at)
			}
			l.add(at, h)
			return true
		})
		if err != nil {
			return err
		}
		b = stopped
	}
	return nil
}

func (l *ledger) reset(batch int) {
	t := &l.batches[batch]
	*t = tally{planned: t.planned, rendered: t.rendered}
	for index := l.first(batch); index < l.first(batch+1); index++ {
		l.whole.Remove(index)
	}
}

func (l *ledger) add(batch int, h db.OutcomeHead) {
	t, v, index := &l.batches[batch], Judge(h, l.filters), h.Ordinal.Index()
	switch {
	case h.Ordinal.Rollout() == 0 && v.Finished():
		l.whole.Add(index)
	case !v.Finished():
		l.whole.Remove(index)
	}
	t.digest = mix(mix(t.digest, uint64(h.Ordinal)), uint64(h.At.UnixNano()))
	t.latest = max(t.latest, h.At.UnixNano())
	if l.plan.answers(h.Ordinal) {
		t.answered++
	}
	if !l.plan.counts(h.Ordinal, v) {
		return
	}
	switch v {
	case Kept:
		t.kept++
	case Filtered:
		t.filtered++
	case Discarded:
		t.discarded++
	case Failed:
		t.failed++
	}
	switch h.End {
	case db.EndCompleted:
		t.completed++
	case db.EndPartial:
		t.partial++
	}
}

// mix folds a word into a digest that is never 0 afterwards.
func mix(digest, word uint64) uint64 {
	digest = (digest ^ word ^ 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
	return (digest ^ digest>>31) | 1
}

// digest is that of all outcomes, never 0.
func (l *ledger) digest() uint64 {
	d := mix(0, 0)
	for i := range l.batches {
		d = mix(d, l.batches[i].digest)
	}
	return d
}

// counts sums the batches up.
func (l *ledger) counts() Counts {
	var c Counts
	for i := range l.batches {
		t := &l.batches[i]
		c.add(Kept, "", int(t.kept))
		c.add(Filtered, "", int(t.filtered))
		c.add(Discarded, "", int(t.discarded))
		c.add(Failed, "", int(t.failed))
		c.add(Pending, "", int(t.planned-t.answered))
		c.Completed += int(t.completed)
		c.Partial += int(t.partial)
		c.Incomplete += int(t.finished() - t.completed - t.partial)
	}
	return c
}

// filled is how many batches have rows.
func (l *ledger) filled() (n int) {
	for i := range l.batches {
		if l.batches[i].rows() > 0 {
			n++
		}
	}
	return n
}

// latest is the time of the last outcome, in ns since 1970; the run's creation
// if there is none.
func (l *ledger) latest() int64 {
	at := int64(math.MinInt64)
	for i := range l.batches {
		if t := &l.batches[i]; t.digest != 0 {
			at = max(at, t.latest)
		}
	}
	if at == math.MinInt64 {
		return l.store.Run().Created.UnixNano()
	}
	return at
}
