package export

import (
	"context"
	"fmt"
	"time"

	"hermes-batch/db"
)

// pass renders the batch files and the merged file by going through the store
// once. Batch numbers do not fall while prompt indices grow, so one batch file
// is open at a time. Files of batches that have no rows are removed.
type pass struct {
	r       *Renderer
	rep     *Report
	merged  *file
	parquet *parquetFile
	batch   *file // nil before the first row
	number  int   // of batch; before the first, -1
}

// seen is told of every outcome of a pass.
type seen func(db.Ordinal, *db.Outcome, Verdict) error

// pass goes through the whole store; others take their part on the way. There
// need not be a Parquet file.
func (r *Renderer) pass(ctx context.Context, rep *Report, tell seen, parquet *parquetFile) error {
	p := &pass{r: r, rep: rep, merged: r.begin(r.mergedPath()), parquet: parquet, number: -1}
	defer p.abort()
	digest := r.ledger.digest()
	err := r.walk(ctx, span{}, func(o db.Ordinal, out *db.Outcome, v Verdict) error {
		if err := tell(o, out, v); err != nil {
			return err
		}
		return p.add(o, out, v)
	})
	if err != nil {
		return err
	}
	if err := p.next(len(r.ledger.batches)); err != nil {
		return err
	}
	if err := r.finish(rep, p.merged, nil); err != nil {
		return err
	}
	r.merged = digest
	return nil
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
	if batch > p.number {
		if err := p.next(batch); err != nil {
			return err
		}
	}
	line := p.r.line(&row)
	if err := p.batch.add(line); err != nil || v != Kept {
		return err
	}
	if p.parquet != nil {
		p.parquet.add(&row) // finishParquet tells its error
	}
	return p.merged.add(line)
}

// next finishes the open batch, removes the files of those before the given
// one, and opens that; with the number of batches it opens none.
func (p *pass) next(batch int) error {
	if p.batch != nil {
		if err := p.r.finish(p.rep, p.batch, nil); err != nil {
			return err
		}
		p.batch = nil
		p.rendered(p.number)
	}
	for p.number++; p.number < batch; p.number++ {
		if err := p.remove(p.number); err != nil {
			return err
		}
		p.rendered(p.number)
	}
	if batch < len(p.r.ledger.batches) {
		p.batch = p.r.begin(p.r.path(batchName(batch)))
	}
	return nil
}

func (p *pass) rendered(batch int) {
	t := &p.r.ledger.batches[batch]
	t.rendered = t.digest
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
