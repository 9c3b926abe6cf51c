package export

import (
	"context"
	"errors"
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
// that as long as nothing changes in the batches that it has passed, and in the
// files that it compares its own with.
type ahead struct {
	*pass
	stats  *collector
	passed []passed   // by batch
	older  [2]version // of the merged and the Parquet file, when it began
}

// passed is what a pass has left behind of one batch.
type passed struct {
	digest uint64 // of the outcomes that it saw
	rows   int    // of the file; without any there is none
	file   version
}

// version tells a file from what it was before, as far as its size and its time
// tell. It is zero where there is no file.
type version struct{ bytes, written int64 }

func versionOf(path string) version {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return version{}
	}
	return version{info.Size(), info.ModTime().UnixNano()}
}

func (r *Renderer) beginAhead() *ahead {
	a := &ahead{stats: newCollector(r)}
	a.pass = r.beginPass(nil, a.see, r.beginParquet())
	a.older = a.present()
	return a
}

// present are the merged and the Parquet file as they are now.
func (a *ahead) present() [2]version {
	return [2]version{versionOf(a.merged.path), versionOf(a.parquet.path)}
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

// advance stops between batches only: what it has begun is for the final
// rendering, which may be why ctx ends.
func (a *ahead) advance(ctx context.Context, until time.Time) error {
	batches := a.r.ledger.batches
	full := func(b int) bool { return b < len(batches) && batches[b].answered == batches[b].planned }
	for b := len(a.passed); full(b) && ctx.Err() == nil && time.Now().Before(until); b++ {
		from, to := a.r.ledger.span(b)
		if err := a.walk(context.WithoutCancel(ctx), span{from, to}); err != nil {
			return err
		}
		if err := a.leave(b); err != nil {
			return err
		}
		if a.failed != nil || a.merged.err != nil {
			return errors.Join(a.failed, a.merged.err)
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
		was.rows, was.file = f.Rows, versionOf(f.Path)
	}
	a.passed = append(a.passed, was)
	return nil
}

// holds tells whether what was passed is still what the pass saw, and all its
// files can be finished.
func (a *ahead) holds() bool {
	for b, was := range a.passed {
		if a.r.ledger.batches[b].digest != was.digest {
			return false
		}
	}
	return a.present() == a.older && a.merged.untouched() == nil && a.parquet.failed() == nil
}

// finish renders what is left. Files of batches that somebody touched since
// they were passed are rendered again.
func (a *ahead) finish(ctx context.Context, rep *Report) error {
	a.rep = rep
	for b, was := range a.passed {
		if err := a.pardon(a.restore(ctx, b, was)); err != nil {
			return err
		}
	}
	return a.pass.finish(ctx, db.MakeOrdinal(a.r.ledger.first(len(a.passed)), 0))
}

// restore makes the file of a batch what the pass left.
func (a *ahead) restore(ctx context.Context, b int, was passed) error {
	if was.rows == 0 {
		return a.remove(b)
	}
	path := a.r.path(batchName(b))
	if is := versionOf(path); is == (version{}) || is != was.file {
		return a.r.batch(ctx, a.rep, b)
	}
	a.rep.Files = append(a.rep.Files, File{path, Unchanged, was.rows, was.file.bytes})
	return nil
}
