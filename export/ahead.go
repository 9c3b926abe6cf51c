package export

import (
	"context"
	"os"
	"runtime"
	"time"

	"hermes-batch/db"
)

// aheadBudget bounds one stretch of a pass that runs ahead, after which what
// else is rendered in the background has its turn.
const aheadBudget = 100 * time.Millisecond

// ahead is a pass that goes over the batches that are full while the run goes
// on, so that the final rendering finds most of its work done. It is good for
// that as long as nothing changes in the batches that it has passed.
type ahead struct {
	*pass
	stats  *collector
	passed []passed // by batch
}

// passed is what a pass has left behind of one batch.
type passed struct {
	digest  uint64 // of the outcomes that it saw
	rows    int    // of the file; without any there is none
	bytes   int64
	written time.Time
}

func (r *Renderer) beginAhead() *ahead {
	a := &ahead{stats: newCollector(r)}
	a.pass = r.beginPass(nil, a.see, r.beginParquet())
	return a
}

// see lets sessions run that became ready since the row before.
func (a *ahead) see(o db.Ordinal, out *db.Outcome, v Verdict) error {
	runtime.Gosched()
	return a.stats.add(o, out, v)
}

func (a *ahead) abort() {
	a.pass.abort()
	a.parquet.abort()
}

// drop gives up the pass that runs ahead, if there is one.
func (r *Renderer) drop() {
	if r.ahead != nil {
		r.ahead.abort()
		r.ahead = nil
	}
}

// advance takes the pass on through batches that are full, for as long as its
// budget lasts. The short form has none: its output shows batches that are not
// full too.
func (r *Renderer) advance(ctx context.Context, rep *Report) error {
	if r.opts.Short() {
		return nil
	}
	if r.ahead != nil && !r.ahead.holds() {
		r.drop()
	}
	if r.ahead == nil {
		r.ahead = r.beginAhead()
	}
	r.ahead.rep = rep
	err := r.ahead.advance(ctx, time.Now().Add(aheadBudget))
	if err != nil {
		r.drop()
	}
	return err
}

func (a *ahead) advance(ctx context.Context, until time.Time) error {
	for batches := a.r.ledger.batches; len(a.passed) < len(batches) && time.Now().Before(until); {
		b := len(a.passed)
		if t := &batches[b]; t.answered < t.planned {
			return nil
		}
		from, to := a.r.ledger.span(b)
		if err := a.walk(ctx, span{from, to}); err != nil {
			return err
		}
		if err := a.leave(b); err != nil {
			return err
		}
	}
	return a.parquet.failed()
}

// leave finishes a batch that was passed.
func (a *ahead) leave(b int) error {
	before := len(a.rep.Files)
	if err := a.close(b + 1); err != nil {
		return err
	}
	was := passed{digest: a.r.ledger.batches[b].digest}
	for _, f := range a.rep.Files[before:] {
		was.rows, was.bytes = f.Rows, f.Bytes
		if info, err := os.Lstat(f.Path); err == nil {
			was.written = info.ModTime()
		}
	}
	a.passed = append(a.passed, was)
	return nil
}

// holds tells whether the batches that were passed are what they were.
func (a *ahead) holds() bool {
	for b, was := range a.passed {
		if a.r.ledger.batches[b].digest != was.digest {
			return false
		}
	}
	return true
}

// finish renders what is left. Files of batches that somebody touched since
// they were passed are rendered again.
func (a *ahead) finish(ctx context.Context, rep *Report) error {
	a.rep = rep
	for b, was := range a.passed {
		path := a.r.path(batchName(b))
		switch {
		case was.rows == 0:
		case was.touched(path):
			if err := a.r.batch(ctx, rep, b); err != nil {
				return err
			}
		default:
			rep.Files = append(rep.Files, File{path, Unchanged, was.rows, was.bytes})
		}
	}
	return a.pass.finish(ctx, db.MakeOrdinal(a.r.ledger.first(len(a.passed)), 0))
}

// touched tells whether the batch's file is another than was left, as far as
// its size and its time tell.
func (p passed) touched(path string) bool {
	is, err := os.Lstat(path)
	return err != nil || !is.Mode().IsRegular() || is.Size() != p.bytes || !is.ModTime().Equal(p.written)
}
