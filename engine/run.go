package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
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
	Transport  http.RoundTripper           // serves the embedded model, see SimulatedModel
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
	offers      *offers
	cwds        folderQueues
	progress    *Progress
	stop        *stopper

	mu        sync.Mutex
	known     map[db.Hash]*Settings
	replanned bool // the dataset was read anew in this session
}

// Start opens a run: it checks the options, reads the dataset, creates the
// store if there is none, and brings its plan up to date. Nothing is created
// and no request sent when it returns an error that satisfies ErrUsage. store
// is that of an existing run, or nil; it belongs to the Run from then on, also
// when Start fails. ErrInterrupted is returned when ctx ended meanwhile.
func Start(ctx context.Context, o *Options, folder Folder, store *db.Store, deps Deps) (_ *Run, err error) {
	r := &Run{o: o, folder: folder, deps: deps, store: store, now: deps.Now, log: deps.Log, known: map[db.Hash]*Settings{}}
	r.fillDeps()
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = ErrInterrupted
		}
		if err != nil && r.store != nil {
			err = errors.Join(err, r.Close(err))
		}
	}()
	if err := r.configure(); err != nil {
		return nil, err
	}
	data, err := openDataset(o.dataset())
	if err != nil {
		return nil, o.datasetError(err)
	}
	defer data.Close()
	if err := r.open(ctx, data); err != nil {
		return nil, err
	}
	return r, r.prepare()
}

func (r *Run) fillDeps() {
	if r.now == nil {
		r.now = time.Now
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if r.deps.Getenv == nil {
		r.deps.Getenv = os.Getenv
	}
}

// configure turns options into settings and a model client.
func (r *Run) configure() (err error) {
	if err := r.o.Validate(); err != nil {
		return err
	}
	if r.dist, err = findDistribution(r.o); err != nil {
		return err
	}
	if r.endpoint, err = model.Resolve(r.o.BaseURL); err != nil {
		return Usagef("--base_url: %v", err)
	}
	transport := http.RoundTripper(nil)
	if r.o.Model == SimulatedModel && r.o.BaseURL == model.OpenRouterURL {
		r.endpoint, transport = embedded(), r.deps.Transport
	}
	key, err := r.key()
	if err != nil {
		return err
	}
	secrets := []string{key}
	for _, name := range []string{"OPENROUTER_API_KEY", "NOUS_API_KEY", "OPENAI_API_KEY"} {
		secrets = append(secrets, r.deps.Getenv(name))
	}
	r.mask = newMask(secrets...)
	if r.settings, err = r.o.settings(r.endpoint, r.dist); err != nil {
		return err
	}
	r.client, err = model.New(model.Options{Endpoint: r.endpoint, Key: key, Workers: r.o.Workers,
		RequestTimeout: r.o.RequestTimeout, Transport: transport, Mask: r.mask.text, Log: r.log, Now: r.now, Sleep: r.deps.Sleep})
	return err
}

// embedded is the endpoint inside the program. Its name resolves nowhere.
func embedded() model.Endpoint {
	return model.Endpoint{URL: "http://simulated.invalid/v1", Kind: model.Loopback}
}

// key is the endpoint's key: the flag, or the variable that goes with the
// endpoint.
func (r *Run) key() (string, error) {
	key, err := r.endpoint.Key(r.o.APIKey, r.deps.Getenv)
	switch {
	case errors.Is(err, model.ErrNoKey):
		return "", Usagef("%v; --model=simulated needs none", err)
	case err != nil && r.o.APIKey != "":
		return "", Usagef("--api_key: %v", err)
	case err != nil:
		return "", Usagef("%s: %v", r.endpoint.KeyEnv, err)
	}
	return key, nil
}

func allDistributions(o *Options) ([]tools.Distribution, error) {
	all := tools.Distributions()
	if o.DistributionFile == "" {
		return all, nil
	}
	own, err := tools.LoadDistributions(o.DistributionFile, tools.Toolsets())
	if err != nil {
		return nil, Usagef("--distribution_file: %v", err)
	}
	return append(all, own...), nil
}

func findDistribution(o *Options) (tools.Distribution, error) {
	all, err := allDistributions(o)
	if err != nil {
		return tools.Distribution{}, err
	}
	var names []string
	for _, d := range all {
		if d.Name == o.Distribution {
			return d, nil
		}
		names = append(names, d.Name)
	}
	return tools.Distribution{}, Usagef("--distribution: there is no distribution %q; allowed: %s", o.Distribution, strings.Join(names, ", "))
}

// open reads the dataset and creates or checks the store.
func (r *Run) open(ctx context.Context, data *os.File) error {
	if r.store != nil {
		if err := r.checkSettings(); err != nil {
			return err
		}
		same, err := planned(r.store, data, r.o.MaxSamples)
		if err != nil {
			return err
		}
		if same {
			return r.begin()
		}
	}
	s, err := scanDataset(ctx, data, r.o.MaxSamples)
	if err != nil {
		return fmt.Errorf("read %s: %w", r.o.dataset(), err)
	}
	if len(s.rows) == 0 {
		return r.o.datasetError(noRows(r.o.dataset(), s.bad))
	}
	if r.store == nil {
		if err := r.create(); err != nil {
			return err
		}
	}
	if err := r.begin(); err != nil {
		return err
	}
	r.replanned = true
	return makePlan(ctx, r.store, data, s, r.o)
}

func noRows(path string, bad []db.BadLine) error {
	if len(bad) == 0 {
		return Usagef("%s holds no prompts", path)
	}
	return Usagef("%s holds no valid row; %d bad lines, the first: line %d: %s (%s)",
		path, len(bad), bad[0].Line, bad[0].Reason, bad[0].Hint)
}

func (r *Run) create() (err error) {
	if err := checkWorkDir(r.o); err != nil {
		return err
	}
	if err := checkDisk(r.folder.Dir); err != nil {
		return err
	}
	if r.o.Overwrite {
		if err := r.folder.MoveAside(r.now()); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(r.folder.Dir, 0o777); err != nil {
		return err
	}
	r.store, err = db.Create(r.folder.Store(), db.Run{Name: r.folder.Name, Tools: tools.Names()}, db.Options{Now: r.now, Log: r.log})
	if errors.Is(err, db.ErrExists) { // another program was faster
		return r.folder.taken()
	}
	return err
}

// checkSettings refuses to go on under other settings than the run's last
// session had, unless that is allowed.
func (r *Run) checkSettings() error {
	last, found, err := r.store.LastLaunch()
	if err != nil || !found || last.Settings.IsZero() {
		return err
	}
	old, err := r.settingsOf(last.Settings)
	if err != nil {
		return err
	}
	diff := Differences(old, r.settings)
	if len(diff) == 0 || r.o.AllowConfigChange {
		return nil
	}
	return Usagef("run %q was made under other settings:\n  %s\nresume it under the old ones, or give --allow_config_change: prompts in flight then finish under the old settings, new and failed ones run under the new",
		r.folder.Name, strings.Join(diff, "\n  "))
}

// begin records this session of the program.
func (r *Run) begin() (err error) {
	if err := r.store.AddTools(tools.Names()); err != nil {
		return err
	}
	if r.fingerprint, err = r.store.PutSettings(r.settings.Canonical()); err != nil {
		return err
	}
	host, _ := os.Hostname()
	r.launch, err = r.store.BeginLaunch(db.Launch{Started: r.now(), Version: r.deps.Version, Host: host, PID: os.Getpid(),
		Flags: r.deps.Flags, Settings: r.fingerprint, BatchSize: r.o.batchSize()})
	return err
}

// prepare makes what the work needs.
func (r *Run) prepare() (err error) {
	if r.workDir, err = workFolder(r.o, r.store.Run().ID); err != nil {
		return err
	}
	r.offers = newOffers(r.store)
	r.progress, err = newProgress(r)
	return err
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
		how = "stopped: " + r.mask.text(oneLine(end.Error()))
	}
	r.client.Close()
	_ = os.Remove(r.workDir) // if no sandbox is left in it
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
	if out.End != endFailed {
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
