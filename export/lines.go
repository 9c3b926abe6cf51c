package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"hermes-batch/db"
)

// span is a part of the places in a store: from the first to before the
// second, which is the end if 0.
type span struct{ from, to db.Ordinal }

var errEnough = errors.New("end of span")

// walk calls fn with the outcomes of a span in order.
func (r *Renderer) walk(ctx context.Context, s span, fn func(db.Ordinal, *db.Outcome, Verdict) error) error {
	if s.to == 0 {
		s.to = math.MaxUint64
	}
	err := r.store.Outcomes(s.from, func(o db.Ordinal, out db.Outcome) error {
		if o >= s.to {
			return errEnough
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return fn(o, &out, Judge(db.HeadOf(o, &out), r.ledger.filters))
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// line returns the line of a row, in memory that the next call uses again.
func (r *Renderer) line(row *row) []byte {
	if cap(r.buf) > longRow {
		r.buf = nil
	}
	r.buf = append(r.encoder.append(r.buf[:0], row), '\n')
	if o := row.ordinal; len(r.buf) > longRow && !r.long[o] {
		r.long[o] = true
		r.opts.Log.Warn("very long row, which some readers of JSONL refuse", "prompt_index", o.Index(), "bytes", len(r.buf))
	}
	return r.buf
}

// batchName is the name of a batch's file.
func batchName(batch int) string { return fmt.Sprintf("batch_%d.jsonl", batch) }

// trustFiles takes the files of complete batches for up to date if they are
// younger than all outcomes in them; a Final rendering verifies them.
func (r *Renderer) trustFiles() {
	for b := range r.ledger.batches {
		t := &r.ledger.batches[b]
		if !t.full() {
			continue
		}
		info, err := os.Stat(r.path(batchName(b)))
		if t.rows() == 0 && errors.Is(err, fs.ErrNotExist) ||
			err == nil && info.Size() > 0 && info.ModTime().UnixNano() > t.latest {
			t.rendered = t.digest
		}
	}
}

// batches renders the files of those batches that are due and may have changed.
// One that cannot be written keeps none of the others back; the first error is told.
func (r *Renderer) batches(ctx context.Context, rep *Report, due func(*tally) bool) (failed error) {
	for b := range r.ledger.batches {
		t := &r.ledger.batches[b]
		if !t.dirty() || !due(t) {
			continue
		}
		if t.rows() > 0 {
			switch err := r.batch(ctx, rep, b); {
			case errors.Is(err, ErrWrite):
				failed = cmp.Or(failed, err)
				continue
			case err != nil:
				return err
			}
		}
		t.rendered = t.digest
	}
	return failed
}

func (r *Renderer) batch(ctx context.Context, rep *Report, b int) error {
	from, to := r.ledger.span(b)
	return r.rows(ctx, rep, r.path(batchName(b)), span{from, to}, func(v Verdict) bool { return v == Kept || v == Filtered })
}

// merge renders the merged file alone.
func (r *Renderer) merge(ctx context.Context, rep *Report) error {
	digest := r.ledger.digest()
	err := r.rows(ctx, rep, r.mergedPath(), span{}, func(v Verdict) bool { return v == Kept })
	if err == nil {
		r.merged = digest
	}
	return err
}

// rows renders one file with the rows of a span whose verdict it wants.
func (r *Renderer) rows(ctx context.Context, rep *Report, path string, s span, wants func(Verdict) bool) error {
	f := r.begin(path)
	defer f.abort()
	err := r.walk(ctx, s, func(o db.Ordinal, out *db.Outcome, v Verdict) error {
		if !wants(v) {
			return nil
		}
		row, err := loadRow(r.store, o, *out)
		if err != nil {
			return err
		}
		return f.add(r.line(&row))
	})
	if err != nil {
		return err
	}
	return r.finish(rep, f, nil)
}
