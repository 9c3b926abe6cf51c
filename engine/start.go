package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"hermes-batch/db"
	"hermes-batch/engine/model"
	"hermes-batch/tools"
)

// Start opens a run: it checks the options, reads the dataset, creates the
// store if there is none, and brings its plan up to date. Nothing is created
// and no request sent when it returns an error that satisfies ErrUsage. store
// is that of an existing run, or nil; it belongs to the Run from then on, also
// when Start fails. ErrInterrupted is returned when ctx ended meanwhile.
func Start(ctx context.Context, o *Options, folder Folder, store *db.Store, deps Deps) (_ *Run, err error) {
	r := &Run{o: o, folder: folder, deps: deps, store: store, now: deps.Now, log: deps.Log, known: map[db.Hash]*Settings{}, pieces: newPieceBuffers()}
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
	if r.o.Model == simulatedModel && r.endpoint.URL == model.OpenRouterURL {
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
	return Usagef("%s holds no valid row; %s, the first: line %d: %s (%s)",
		path, badLines(len(bad), ""), bad[0].Line, bad[0].Reason, bad[0].Hint)
}

func (r *Run) create() (err error) {
	if err := checkWorkDir(r.o); err != nil {
		return err
	}
	if err := checkDisk(r.folder.Dir); err != nil {
		return err
	}
	if r.o.Overwrite {
		if err := r.folder.moveAside(r.now()); err != nil {
			return err
		}
	}
	if err := db.MakeFolder(r.folder.Dir); err != nil {
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
	diff := differences(old, r.settings)
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
