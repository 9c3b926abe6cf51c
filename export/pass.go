package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"hermes-batch/db"
)

// pass renders the batch files and the merged file by going through the store
// once, in one stretch or in several. Batch numbers do not fall while prompt
// indices grow, so one batch file is open at a time. Files of batches that have
// no rows are removed.
type pass struct {
	r       *Renderer
	rep     *Report
	tell    seen
	merged  *file
	parquet *parquetFile // nil: none
	batch   *file        // nil before its first row
	number  int          // of batch; those before it are finished
	failed  error        // of the first batch whose file could not be written
}

// seen is told of every outcome of a pass.
type seen func(db.Ordinal, *db.Outcome, Verdict) error

func (r *Renderer) beginPass(rep *Report, tell seen, parquet *parquetFile) *pass {
	return &pass{r: r, rep: rep, tell: tell, merged: r.begin(r.mergedPath()), parquet: parquet}
}

// pass goes through the whole store; others take their part on the way. There
// need not be a Parquet file.
func (r *Renderer) pass(ctx context.Context, rep *Report, tell seen, parquet *parquetFile) error {
	p := r.beginPass(rep, tell, parquet)
	defer p.abort()
	return errors.Join(p.finish(ctx, 0), p.failed)
}

// finish goes through what is left from a place on, and puts the merged file in
// its place. Files that cannot be written keep none of the others back: their
// errors are in failed.
func (p *pass) finish(ctx context.Context, from db.Ordinal) error {
	digest := p.r.ledger.digest()
	if err := p.walk(ctx, span{from: from}); err != nil {
		return err
	}
	if err := p.close(len(p.r.ledger.batches)); err != nil {
		return err
	}
	if err := p.r.finish(p.rep, p.merged, nil); err != nil {
		return p.pardon(err)
	}
	p.r.merged = digest
	return nil
}

// pardon keeps an error that is one file's alone for the end, and returns others
// and none as they are.
func (p *pass) pardon(err error) error {
	if !errors.Is(err, ErrWrite) {
		return err
	}
	p.failed = cmp.Or(p.failed, err)
	return nil
}

// walk takes the outcomes of a span in.
func (p *pass) walk(ctx context.Context, s span) error {
	return p.r.walk(ctx, s, func(o db.Ordinal, out *db.Outcome, v Verdict) error {
		if err := p.tell(o, out, v); err != nil {
			return err
		}
		return p.add(o, out, v)
	})
}

// collect goes through the whole store for its statistics, and renders the
// merged file on the way until the deadline.
func (r *Renderer) collect(ctx context.Context, rep *Report, stats *collector, deadline time.Time) error {
	digest, merged := r.ledger.digest(), r.begin(r.mergedPath())
	defer merged.abort()
	late := false
	err := r.walk(ctx, span{}, func(o db.Ordinal, out *db.Outcome, v Verdict) error {
		if err := stats.add(o, out, v); err != nil || v != Kept || late {
			return err
		}
		if late = time.Now().After(deadline); late {
			merged.abort()
			return nil
		}
		row, err := loadRow(r.store, o, *out)
		if err != nil {
			return err
		}
		return merged.add(r.line(&row))
	})
	if err != nil {
		return err
	}
	if late {
		rep.Files = append(rep.Files, File{Path: r.mergedPath(), State: LeftOut})
		return nil
	}
	r.merged = digest
	return r.finish(rep, merged, nil)
}

func (p *pass) add(o db.Ordinal, out *db.Outcome, v Verdict) error {
	if v != Kept && v != Filtered {
		return nil
	}
	row, err := loadRow(p.r.store, o, *out)
	if err != nil {
		return err
	}
	batch := p.r.store.BatchOf(o.Index())
	if batch < p.number {
		return fmt.Errorf("row of %s: batch %d after batch %d: %w", o, batch, p.number, db.ErrDamaged)
	}
	if err := p.close(batch); err != nil {
		return err
	}
	if p.batch == nil {
		p.batch = p.r.begin(p.r.path(batchName(batch)))
	}
	line := p.r.line(&row)
	if err := p.pardon(p.batch.add(line)); err != nil || v != Kept {
		return err
	}
	if p.parquet != nil {
		p.parquet.add(&row) // finishParquet tells its error
	}
	return p.pardon(p.merged.add(line))
}

// close finishes the batches before the given one.
func (p *pass) close(before int) error {
	for ; p.number < before; p.number++ {
		err := p.end()
		if err == nil {
			t := &p.r.ledger.batches[p.number]
			t.rendered = t.digest
		}
		if err := p.pardon(err); err != nil {
			return err
		}
	}
	return nil
}

// end finishes the open batch, or one without rows.
func (p *pass) end() error {
	if p.batch == nil {
		return p.remove(p.number)
	}
	f := p.batch
	p.batch = nil
	defer f.abort()
	return p.r.finish(p.rep, f, nil)
}

// remove takes away the file of a batch without rows, if there is one.
func (p *pass) remove(batch int) error {
	path := p.r.path(batchName(batch))
	was, err := p.r.place.remove(path)
	if was {
		p.rep.Files = append(p.rep.Files, File{Path: path, State: Removed})
	}
	return err
}

// abort drops what is unfinished.
func (p *pass) abort() {
	p.merged.abort()
	if p.batch != nil {
		p.batch.abort()
	}
}
