package export

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"hermes-batch/db"
)

// Mode says how much a rendering covers.
type Mode int

const (
	// Background renders what a run may want to look at while it goes on:
	// batches whose prompts all have an outcome, checkpoint.json, errors.jsonl
	// and the short form's output. It costs as much as what is new, and the
	// output file. The other files grow under their temporary names.
	Background Mode = iota
	// Stop renders everything with what there is so far, but for files that
	// cannot have changed; the merged file only if Options.Budget suffices.
	Stop
	// Final renders everything that earlier renderings did not, compares every
	// byte with what is there, and removes files of batches that have no rows
	// any more.
	Final
)

// DefaultBudget is how long an orderly stop spends on the merged file.
const DefaultBudget = 3 * time.Second

// Options say where a run's files lie and what they hold.
type Options struct {
	Dir     string        // folder of the files, which exists
	Output  string        // the short form's file, in place of trajectories.jsonl; then no filter drops a row
	Filters Filters       // quality filters of the long form
	Budget  time.Duration // of Stop for the merged file; 0 means DefaultBudget
	Log     *slog.Logger  // for rows that readers may refuse; nil means none
}

// Short tells the short form.
func (o Options) Short() bool { return o.Output != "" }

// Effective are the filters in force: the short form has none.
func (o Options) Effective() Filters {
	if o.Short() {
		return keepAll()
	}
	return o.Filters
}

// Renderer keeps the files of one run in the state of its store. It may be used
// by several goroutines; renderings take turns. Between two in the background it
// has files open: Close ends that.
type Renderer struct {
	store *db.Store
	opts  Options
	place place

	mu      sync.Mutex
	ledger  ledger
	tools   []string // that rows have had so far
	encoder *encoder
	ahead   *ahead              // nil: none
	buf     []byte              // scratch
	merged  uint64              // digest of the outcomes that the merged file shows
	long    map[db.Ordinal]bool // rows that were found longer than longRow
}

// NewRenderer returns a renderer of the store's run. It reads nothing yet.
func NewRenderer(store *db.Store, opts Options) *Renderer {
	if opts.Budget == 0 {
		opts.Budget = DefaultBudget
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &Renderer{store: store, opts: opts, place: &folders{}, long: map[db.Ordinal]bool{}, ledger: ledger{store: store, filters: opts.Effective()}}
}

// Close drops what Background renderings have begun, of which no file shows
// anything yet. The renderer can be used again.
func (r *Renderer) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop()
}

// Render brings the files up to date as far as mode says. On an error the
// report tells what was done before; every file then shows either its old or
// its new content, whole. The error satisfies ErrWrite if a file is to blame,
// and is ctx's own if that ended.
func (r *Renderer) Render(ctx context.Context, mode Mode) (*Report, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	began := time.Now()
	rep := &Report{}
	err := r.prepare(mode)
	if err == nil {
		err = r.render(ctx, mode, rep)
	}
	err = errors.Join(err, r.place.sync())
	rep.LongRows = len(r.long)
	rep.Took = time.Since(began)
	return rep, err
}

// render does what can be done: a file that cannot be written keeps none of the
// others back.
func (r *Renderer) render(ctx context.Context, mode Mode, rep *Report) error {
	switch mode {
	case Background:
		return errors.Join(
			r.advance(ctx, rep),
			r.batches(ctx, rep, (*tally).full),
			r.tables(ctx, rep),
			r.output(ctx, rep),
		)
	case Stop:
		r.drop()
		err := errors.Join(
			r.batches(ctx, rep, func(t *tally) bool { return t.rows() > 0 }),
			r.tables(ctx, rep),
		)
		stats, deadline := newCollector(r), time.Now().Add(r.opts.Budget)
		if failed := r.collect(ctx, rep, stats, deadline); failed != nil {
			return errors.Join(err, failed)
		}
		return errors.Join(err, r.statistics(rep, stats), r.parquetUntil(ctx, rep, stats.pending, deadline))
	}
	return r.finishAll(ctx, rep)
}

func (r *Renderer) finishAll(ctx context.Context, rep *Report) error {
	defer r.drop()
	if r.ahead != nil && r.ahead.holds() {
		err := r.finishAhead(ctx, rep)
		if !errors.Is(err, ErrWrite) {
			return err
		}
		*rep = Report{} // somebody may have touched what lay there for long: anew
	}
	r.drop()
	r.ahead = r.beginAhead()
	return r.finishAhead(ctx, rep)
}

func (r *Renderer) finishAhead(ctx context.Context, rep *Report) error {
	a := r.ahead
	if err := a.finish(ctx, rep); err != nil {
		return errors.Join(err, r.tables(ctx, rep))
	}
	return errors.Join(a.failed, r.tables(ctx, rep), r.statistics(rep, a.stats), r.finishParquet(rep, a.parquet, a.stats.pending))
}

// prepare brings the ledger up to date.
func (r *Renderer) prepare(mode Mode) error {
	if r.retool() {
		r.drop()
		for b := range r.ledger.batches {
			r.ledger.batches[b].rendered = 0 // the rows' tool_stats have grown
		}
		r.merged = 0
	}
	fresh, err := r.ledger.reload()
	if err != nil {
		return err
	}
	if err := r.ledger.refresh(fresh || mode != Background); err != nil {
		return err
	}
	if !fresh {
		return nil
	}
	r.drop()
	same, err := r.sameFilters()
	if same {
		r.trustFiles()
	}
	return err
}

// sameFilters tells whether the session of the program before this one had the
// filters that are in force now, so that its files may stand.
func (r *Renderer) sameFilters() (bool, error) {
	launches, err := r.store.Launches()
	if err != nil || len(launches) < 2 {
		return err == nil, err
	}
	return filtersOf(launches[len(launches)-2]) == r.opts.Effective(), nil
}

// retool takes the tools that the run has by now, and tells whether there are
// more than before.
func (r *Renderer) retool() bool {
	tools := r.store.Run().Tools
	if r.encoder != nil && slices.Equal(tools, r.tools) {
		return false
	}
	r.tools, r.encoder = tools, newEncoder(tools)
	return true
}

// tables renders the small files that need no conversations.
func (r *Renderer) tables(ctx context.Context, rep *Report) error {
	rep.Counts, rep.Batches = r.ledger.counts(), r.ledger.filled()
	if err := r.checkpoint(rep); err != nil {
		return err
	}
	return r.failures(ctx, rep)
}

// path is the place of a file of the run.
func (r *Renderer) path(name string) string { return filepath.Join(r.opts.Dir, name) }

// mergedPath is the place of the merged file.
func (r *Renderer) mergedPath() string {
	if r.opts.Short() {
		return r.opts.Output
	}
	return r.path("trajectories.jsonl")
}

// output renders the short form's file while the run goes on.
func (r *Renderer) output(ctx context.Context, rep *Report) error {
	if !r.opts.Short() || r.merged == r.ledger.digest() {
		return nil
	}
	return r.merge(ctx, rep)
}
