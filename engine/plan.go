package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"hermes-batch/db"
)

// Rows registered in one transaction: enough to make its cost per row small,
// few enough to keep memory flat.
const (
	registerRows  = 1024
	registerBytes = 16 << 20
)

// planner turns a dataset into the plan of a run: it registers new rows and
// finds the prompts of known ones.
type planner struct {
	store     *db.Store
	scan      *scan
	batchSize int

	groups  map[[16]byte][]place // of contents that need more than one look
	fresh   bool                 // nothing was registered before
	next    int                  // index of the next new prompt
	rows    []uint32             // the plan
	waiting []db.Prompt
	bytes   int
}

// planned tells whether the store's plan was made from the same bytes under
// the same limit; then there is nothing to do.
func planned(store *db.Store, f *os.File, limit int) (bool, error) {
	old, found, err := store.Plan()
	if err != nil || !found || old.Limit != limit {
		return false, err
	}
	digest, err := digestOf(f)
	return digest == old.Dataset, err
}

// makePlan brings the store's plan up to date with the dataset.
func makePlan(ctx context.Context, store *db.Store, f *os.File, s *scan, o *Options) error {
	if err := store.DropUnsealed(); err != nil {
		return err
	}
	next, err := store.NextIndex()
	if err != nil {
		return err
	}
	p := &planner{store: store, scan: s, batchSize: o.batchSize(), fresh: next == 0, next: next,
		groups: map[[16]byte][]place{}, rows: make([]uint32, 0, len(s.rows))}
	digest, err := eachRow(ctx, f, o.MaxSamples, p.add, func(db.BadLine) {})
	if err != nil {
		return err
	}
	if digest != s.digest {
		return errChanged
	}
	if err := p.flush(); err != nil {
		return err
	}
	plan := db.Plan{Dataset: s.digest, Path: o.dataset(), Limit: o.MaxSamples, Rows: len(p.rows), Bad: len(s.bad)}
	return store.PutPlan(plan, p.rows, s.bad, p.batchSize)
}

var errChanged = errors.New("the dataset changed while it was read; --resume reads it again")

func (p *planner) add(r *row) error {
	n := len(p.rows)
	if n >= len(p.scan.rows) || p.scan.rows[n] != r.key() {
		return errChanged
	}
	at, err := p.place(n, r)
	if err != nil {
		return err
	}
	index := at.index
	if index < 0 {
		index = p.next
		p.next++
	}
	p.rows = append(p.rows, uint32(index))
	if at.index >= 0 && [8]byte(at.extra[:8]) == p.scan.rows[n].extra {
		return nil
	}
	return p.put(db.Prompt{Index: index, Copy: at.copy, Hash: r.hash(), Text: r.text, Image: r.image, Cwd: r.cwd, Extra: r.extra})
}

// place finds row number n's place. Contents are looked at as a group, since
// which copy a row gets depends on the other rows.
func (p *planner) place(n int, r *row) (place, error) {
	group := p.scan.group(n)
	if len(group) == 1 && p.fresh {
		return place{index: -1}, nil
	}
	content := p.scan.rows[n].content
	places, known := p.groups[content]
	if !known {
		var copies []db.Copy
		if !p.fresh {
			var err error
			if copies, err = p.store.Copies(r.hash()); err != nil {
				return place{}, fmt.Errorf("match line %d: %w", r.line, err)
			}
		}
		extras := make([][8]byte, len(group))
		for i, row := range group {
			extras[i] = p.scan.rows[row].extra
		}
		places = matchRows(extras, copies)
		if len(group) > 1 {
			p.groups[content] = places
		}
	}
	i, _ := slices.BinarySearch(group, uint32(n))
	return places[i], nil
}

func (p *planner) put(prompt db.Prompt) error {
	p.waiting = append(p.waiting, prompt)
	p.bytes += len(prompt.Text) + len(prompt.Extra)
	if len(p.waiting) < registerRows && p.bytes < registerBytes {
		return nil
	}
	return p.flush()
}

func (p *planner) flush() error {
	if len(p.waiting) == 0 {
		return nil
	}
	err := p.store.PutPrompts(p.waiting)
	p.waiting, p.bytes = p.waiting[:0], 0
	return err
}
