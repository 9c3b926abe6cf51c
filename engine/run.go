package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"hermes-batch/db"
	"hermes-batch/engine/model"
	"hermes-batch/tools"
)

// closeLimit bounds the closing of one sandbox.
const closeLimit = 30 * time.Second

// Deps are what a run takes from outside.
type Deps struct {
	Now        func() time.Time            // nil: time.Now
	Log        *slog.Logger                // nil: discard
	Transport  http.RoundTripper           // serves the embedded model
	Getenv     func(string) string         // nil: os.Getenv
	Executable string                      // this program, started as supervisor of commands
	Version    string                      // of this program
	Flags      map[string]string           // in force, kept for the next resume; without secrets
	Judge      func(db.OutcomeHead) string // verdict of an outcome: kept, filtered, discarded or failed
	Render     func(context.Context) error // brings output files up to date while the run goes on; may be nil

	// Sleep waits between the tries of a model call and for rate limits; nil:
	// real time.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Run is one run of prompts over one store, in one session of the program.
type Run struct {
	o      *Options
	folder Folder
	deps   Deps
	now    func() time.Time
	log    *slog.Logger
	mask   mask

	store       *db.Store
	endpoint    model.Endpoint
	client      *model.Client
	dist        tools.Distribution
	settings    *Settings
	fingerprint db.Hash
	launch      int
	workDir     string
	adopted     bool // the work folders are this session's
	offers      *offers
	pieces      pieceBuffers
	cwds        folderQueues
	progress    *Progress
	stop        *stopper

	mu        sync.Mutex
	known     map[db.Hash]*Settings
	replanned bool // the dataset was read anew in this session
}

// Store is the run's store, for readers beside the work.
func (r *Run) Store() *db.Store { return r.store }

// Progress is the run's live state.
func (r *Run) Progress() *Progress { return r.progress }

// Work runs all prompts that are due. It returns nil when every prompt has an
// outcome, ErrInterrupted when ctx ended, or an error that satisfies
// ErrStopped.
func (r *Run) Work(ctx context.Context) error {
	stop, work := newStopper(ctx, r.o.ShutdownGrace)
	r.stop = stop
	defer stop.cancel()
	go func() {
		select {
		case <-r.store.Failed():
			stop.begin(storeStop(r.store.Err()))
		case <-work.Done():
		}
	}()
	r.adoptSandboxes()
	r.sweep(work)
	rendering := r.render(work)
	if err := r.drive(work); err != nil {
		stop.begin(stopFor(err))
	}
	stop.cancel()
	<-rendering
	return stop.why()
}

// drive feeds the workers until all prompts are done or the run stops.
func (r *Run) drive(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	due := make(chan db.Ordinal)
	group.Go(func() error {
		defer close(due)
		return r.feed(ctx, due)
	})
	for range r.o.Workers {
		group.Go(func() error { return r.worker(ctx, due) })
	}
	return group.Wait()
}

func (r *Run) worker(ctx context.Context, due <-chan db.Ordinal) error {
	for ord := range due {
		if r.stop.stopping() {
			return nil
		}
		switch err := r.take(ctx, ord); {
		case errors.Is(err, errHalt):
			return nil
		case err != nil:
			r.stop.begin(stopFor(err))
			return nil
		}
	}
	return nil
}

// take works on a prompt, and then on those that waited for its folder. One
// whose folder is taken is left to whoever has it.
func (r *Run) take(ctx context.Context, ord db.Ordinal) error {
	prompt, err := r.store.Prompt(ord.Index())
	if err != nil {
		return err
	}
	folder, entered := r.cwds.enter(prompt.Cwd, ord)
	for waited := entered; waited; {
		if err := r.work(ctx, ord, prompt); err != nil {
			return err
		}
		if ord, waited = r.cwds.leave(folder); waited {
			if prompt, err = r.store.Prompt(ord.Index()); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close ends the session of the program in the store and closes it. end says
// how the work ended: nil, or Work's error.
func (r *Run) Close(end error) error {
	how := "complete"
	switch {
	case errors.Is(end, ErrInterrupted):
		how = "interrupted"
	case end != nil:
		how = "stopped: " + r.mask.line(brief(end))
	}
	if r.client != nil { // else Start failed
		r.client.Close()
	}
	r.leaveSandboxes()
	var err error
	if r.store.Err() == nil && r.launch > 0 {
		err = r.store.EndLaunch(r.launch, how)
	}
	return errors.Join(err, r.store.Close())
}

// settingsOf reads stored settings, each once.
func (r *Run) settingsOf(fp db.Hash) (*Settings, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.known[fp]; s != nil {
		return s, nil
	}
	canonical, err := r.store.Settings(fp)
	if err != nil {
		return nil, err
	}
	s, err := parseSettings(canonical)
	if err == nil {
		r.known[fp] = s
	}
	return s, err
}

// commitOutcome makes an outcome durable and counts it.
func (r *Run) commitOutcome(log *db.Log, ord db.Ordinal, out *db.Outcome) error {
	if err := r.commitErr(log.Finish(out).Wait(context.Background())); err != nil {
		return err
	}
	r.tell(r.progress.finish(ord, out), out, ord)
	return nil
}

// failuresTold bounds the failed prompts that the log names; errors.jsonl has
// all.
const failuresTold = 20

// tell says what the user should know of an outcome at once.
func (r *Run) tell(so tallied, out *db.Outcome, ord db.Ordinal) {
	if so.discarded == hintAfter {
		r.log.Warn(fmt.Sprintf("the last %d prompts showed no reasoning and were discarded: --keep_without_reasoning keeps such rows (nothing is lost: the next --resume with it applies it)", hintAfter))
	}
	if out.End != db.EndFailed {
		return
	}
	level := slog.LevelWarn
	if so.failed > failuresTold {
		level = slog.LevelDebug
	}
	r.log.Log(context.Background(), level, "prompt failed", "prompt", ord.Index(), "class", out.Class, "reason", out.Reason, "message", out.Message)
	if so.failed == failuresTold {
		r.log.Warn("further failed prompts are listed in errors.jsonl only")
	}
}

// commitErr stops the run at a commit that failed.
func (r *Run) commitErr(err error) error {
	if err != nil {
		r.stop.begin(storeStop(err))
	}
	return err
}

// stopFor is the stop that an error of a session or of the feed means.
func stopFor(err error) error {
	for _, of := range []error{db.ErrFailed, db.ErrDamaged, db.ErrClosed, db.ErrConflict, db.ErrNotFound} {
		if errors.Is(err, of) {
			return storeStop(err)
		}
	}
	return &stopError{stopInternal, err}
}

func storeStop(err error) error {
	if err == nil {
		err = errors.New("the store failed")
	}
	return &stopError{stopStore, err}
}
