// Command hermes-batch runs prompts through a tool-calling LLM agent in
// parallel and turns every session into a trajectory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	golog "log"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/lmittmann/tint"
	"github.com/peterbourgon/ff/v3"
	"golang.org/x/term"

	"hermes-batch/db"
	"hermes-batch/engine"
	"hermes-batch/engine/ctl"
	"hermes-batch/engine/flags"
	"hermes-batch/engine/simulated"
	"hermes-batch/export"
	"hermes-batch/tools/sandbox"
)

// version is set by the linker.
var version = "dev"

// Exit codes; 128 and the signal's number after an interrupt.
const (
	exitOK      = 0
	exitFailed  = 1 // finished, some prompts failed
	exitUsage   = 2
	exitStopped = 3
)

// errFailed says by the exit code alone that prompts failed.
var errFailed = errors.New("some prompts failed")

func main() {
	if len(os.Args) > 1 && os.Args[1] == sandbox.SuperviseArg {
		os.Exit(sandbox.Supervise())
	}
	reserve := make([]byte, heapReserve)
	p := &program{stdout: os.Stdout, stderr: os.Stderr, shown: engine.Conceal()}
	p.live = engine.NewLive(p.stderr, p.terminal())
	code := p.main(os.Args[1:])
	runtime.KeepAlive(reserve)
	os.Exit(code)
}

// heapReserve is never touched and takes no memory, but the garbage collector
// counts it: with a small heap it would otherwise run many times a second, and
// every session would wait for it. In bytes.
const heapReserve = 64 << 20

// program is one call of the command line.
type program struct {
	stdout, stderr *os.File
	live           *engine.Live // stderr, with the progress of a run on it
	signal         atomic.Value // os.Signal: the first one
	shown          error        // why commands of the model may see the environment
	keyGiven       bool         // the key is an argument
}

func (p *program) main(args []string) int {
	name := "run"
	switch {
	case len(args) > 0 && strings.TrimLeft(args[0], "-") == "version":
		name, args = "version", args[1:]
	case len(args) > 0 && !strings.HasPrefix(args[0], "-"):
		name, args = args[0], args[1:]
	}
	verbs := p.verbs()
	for _, line := range flags.Strangers(os.Environ(), envPrefix, verbs.Flags()) {
		fmt.Fprintln(p.live, "hermes-batch: warning:", line)
	}
	if name == "help" {
		return p.exitCode(p.help(verbs, args))
	}
	return p.exitCode(p.call(verbs, name, args))
}

// envPrefix begins the names of the variables that set flags.
const envPrefix = "HERMES_BATCH"

func (p *program) verbs() flags.Verbs {
	return flags.Verbs{
		{Name: "run", About: "run prompts (the default)", Intro: engine.Intro, Groups: engine.Groups, Register: p.run},
		{Name: "status", About: "show the state of a run, also while it goes on", Intro: export.StatusIntro, Groups: engine.StoreGroups, Register: p.status},
		{Name: "export", About: "render the files of a run elsewhere, also while it goes on", Intro: export.CopyIntro,
			Groups: append(slices.Clip(engine.StoreGroups), flags.Group{Title: "Export", Names: export.CopyFlags}), Register: p.export},
		{Name: "check", About: "verify the integrity of a run's store", Intro: engine.CheckIntro, Groups: engine.StoreGroups, Register: p.check},
		{Name: "simulate", About: "serve the embedded model over HTTP", Intro: simulated.Intro(),
			Groups: []flags.Group{{Title: "Server", Names: []string{"addr", "latency", "jitter", "fail", "rate_limit", "seed", "stats"}}}, Register: p.simulate},
		{Name: "version", About: "print the version", Intro: "Usage: hermes-batch version\n", Register: p.version},
	}
}

// call parses a verb's flags and runs it.
func (p *program) call(verbs flags.Verbs, name string, args []string) error {
	v, err := verbs.Find(name)
	if err != nil {
		return engine.Usagef("%v", err)
	}
	fs := flag.NewFlagSet(v.Name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	run := v.Register(fs)
	args = flags.Underscore(fs, args)
	if err := parse(fs, args); errors.Is(err, flag.ErrHelp) {
		flags.Help(p.stdout, v.Intro, fs, v.Groups)
		return nil
	} else if err != nil {
		return err
	}
	p.keyGiven = slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(strings.TrimLeft(arg, "-"), "api_key") })
	ctx, stop := p.signals(v.Name == "run")
	defer stop()
	return run(ctx)
}

// parse sets the flags of a verb from words, the environment and a file.
func parse(fs *flag.FlagSet, args []string) error {
	err := flags.Explain(ff.Parse(fs, args, ff.WithEnvVarPrefix(envPrefix), ff.WithConfigFileFlag("config"), ff.WithConfigFileParser(flags.Config(fs))), fs)
	if err == nil {
		err = flags.Leftover(fs, args)
	}
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return err
	}
	return engine.Usagef("%v", err)
}

func (p *program) help(verbs flags.Verbs, args []string) error {
	if len(args) > 0 && !slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		return p.call(verbs, args[0], append(args[1:], "--help"))
	}
	fmt.Fprint(p.stdout, "hermes-batch runs prompts through a tool-calling LLM agent and keeps every trajectory.\n\nVerbs:\n")
	verbs.List(p.stdout)
	fmt.Fprint(p.stdout, "\n\"hermes-batch help VERB\" shows the flags of a verb.\n")
	return nil
}

// aftermath is how a run ended, and what went wrong when it was concluded.
type aftermath struct{ end, err error }

func (a *aftermath) Error() string { return errors.Join(a.end, a.err).Error() }

// exitCode prints an error once, lines after the first indented, and maps it to
// the documented exit code.
func (p *program) exitCode(err error) int {
	var after *aftermath
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &after):
		code, late := p.exitCode(after.end), p.exitCode(after.err)
		if after.end == nil {
			return late
		}
		return code
	case errors.Is(err, errFailed):
		return exitFailed
	case errors.Is(err, engine.ErrInterrupted), errors.Is(err, context.Canceled) && p.signal.Load() != nil:
		return p.signalCode()
	}
	fmt.Fprintf(p.live, "hermes-batch: %s\n", strings.ReplaceAll(err.Error(), "\n", "\n  "))
	if errors.Is(err, engine.ErrUsage) || errors.Is(err, simulated.ErrOptions) || errors.Is(err, export.ErrRefused) {
		return exitUsage
	}
	return exitStopped
}

// signals cancels the context at the first SIGINT or SIGTERM and leaves at
// once at the second. A run can be resumed then.
func (p *program) signals(run bool) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan os.Signal, 2)
	signal.Notify(got, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		first, more := <-got
		if !more {
			return
		}
		p.signal.Store(first)
		fmt.Fprintln(p.live, "stopping: calls in flight may finish; a second signal leaves at once")
		cancel()
		if _, more := <-got; more {
			if run {
				fmt.Fprintln(p.live, "left at once; --resume goes on")
			}
			os.Exit(p.signalCode())
		}
	}()
	return ctx, func() {
		signal.Stop(got)
		close(got)
		cancel()
	}
}

func (p *program) signalCode() int {
	if s, ok := p.signal.Load().(syscall.Signal); ok {
		return 128 + int(s)
	}
	return 128 + int(syscall.SIGINT)
}

func (p *program) version(*flag.FlagSet) func(context.Context) error {
	return func(context.Context) error {
		fmt.Fprintln(p.stdout, "hermes-batch", version)
		return nil
	}
}

// logger writes above the progress; debug lines only if verbose. It has no
// colours: with them the handler would turn escaped control characters of
// servers and models into real ones.
func (p *program) logger(verbose bool) *slog.Logger {
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(tint.NewTextHandler(p.live, &tint.Options{Level: level, TimeFormat: "15:04:05", NoColor: true}))
}

// terminal tells whether stderr, where progress goes, is one.
func (p *program) terminal() bool {
	return term.IsTerminal(int(p.stderr.Fd())) && os.Getenv("TERM") != "dumb"
}

// run is the verb that does the work.
func (p *program) run(fs *flag.FlagSet) func(context.Context) error {
	o, filters := &engine.Options{}, &export.Filters{}
	o.Register(fs)
	filters.Register(fs)
	list := fs.Bool("list_distributions", false, "print the toolset distributions and leave")
	fs.String("config", "", "JSON `file` of flags: name -> value")
	return func(ctx context.Context) error {
		if *list {
			return engine.ListDistributions(p.stdout, o)
		}
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // who stops reading the output does not end the run
		golog.SetOutput(io.Discard)                             // net/http prints there what servers send unasked, past the masking
		log := p.logger(o.Verbose)
		folder, err := o.Folder()
		if err != nil {
			return err
		}
		store, err := folder.Find(o, db.Options{Log: log})
		if err != nil {
			return err
		}
		if store != nil {
			if err := engine.Inherit(fs, store); err != nil {
				return errors.Join(err, store.Close())
			}
		}
		return p.drive(ctx, o, folder, store, *filters, flags.Values(fs), log)
	}
}

// drive makes a run from its start to the summary.
func (p *program) drive(ctx context.Context, o *engine.Options, folder engine.Folder, store *db.Store, filters export.Filters,
	given map[string]string, log *slog.Logger) error {
	output := export.Options{Dir: folder.Dir, Output: folder.Output, Filters: filters, Log: log}
	embedded, err := simulated.New(simulated.Options{})
	if err != nil {
		return err
	}
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	var renderer *export.Renderer // made once there is a store
	deps := engine.Deps{Log: log, Transport: simulated.Transport(embedded), Executable: executable, Version: version, Flags: given,
		Judge:  func(h db.OutcomeHead) string { return export.Judge(h, output.Effective()).String() },
		Render: func(ctx context.Context) error { _, err := renderer.Render(ctx, export.Background); return err },
	}
	r, err := engine.Start(ctx, o, folder, store, deps)
	if err != nil {
		return err
	}
	if p.shown != nil {
		log.Warn("commands of the model may see keys in the environment and the arguments of this program", "error", p.shown)
	}
	if p.keyGiven {
		log.Warn("a key given as a flag stays in the shell's history and in the arguments of what started this program; one in the environment does not")
	}
	renderer = export.NewRenderer(r.Store(), output)
	defer renderer.Close()
	verbs := map[string]ctl.Verb{"export": export.Stream, "status": func(_ context.Context, s *db.Store, _ []string, w io.Writer) error {
		return export.Status(w, s, output.Effective(), r.Progress().Snapshot().Lines())
	}}
	end := p.work(ctx, r, verbs, log)
	failed, err := p.conclude(renderer, end)
	err = errors.Join(err, r.Close(errors.Join(end, err)))
	if failed && end == nil && err == nil {
		return errFailed
	}
	return &aftermath{end, err}
}

// work shows the run and answers questions about it while it goes on.
func (p *program) work(ctx context.Context, r *engine.Run, verbs map[string]ctl.Verb, log *slog.Logger) error {
	server, err := ctl.Serve(context.WithoutCancel(ctx), r.Store(), verbs, log)
	if err != nil {
		log.Warn("no status while the run goes on", "error", err)
	} else {
		defer server.Close()
	}
	if err := r.Announce(); err != nil {
		return err
	}
	p.live.Show(r.Progress())
	defer p.live.Hide()
	return r.Work(ctx)
}

// conclude renders the files, prints the summary and tells whether prompts
// failed.
func (p *program) conclude(renderer *export.Renderer, end error) (failed bool, err error) {
	mode := export.Final
	if end != nil {
		mode = export.Stop
	}
	report, err := renderer.Render(context.Background(), mode)
	if report != nil && report.Statistics != nil {
		if unread := export.Summary(p.stdout, report); !errors.Is(unread, syscall.EPIPE) {
			err = errors.Join(err, unread)
		}
	}
	return report != nil && report.Counts.Failed > 0, err
}

// onStore makes a verb of what is done with the store that its flags name.
func onStore(fs *flag.FlagSet, do func(ctx context.Context, path string) error) func(context.Context) error {
	store := engine.RegisterStore(fs)
	return func(ctx context.Context) error {
		path, err := store()
		if err != nil {
			return err
		}
		return do(ctx, path)
	}
}

func (p *program) status(fs *flag.FlagSet) func(context.Context) error {
	return onStore(fs, func(ctx context.Context, path string) error {
		out := engine.PlainWriter(p.stdout)
		defer out.Close()
		return ctl.Read(ctx, path, "status", nil, out, func(_ context.Context, s *db.Store, _ []string, w io.Writer) error {
			return export.Status(w, s, export.Filters{}, nil)
		})
	})
}

func (p *program) export(fs *flag.FlagSet) func(context.Context) error {
	c := export.RegisterCopy(fs)
	return onStore(fs, func(ctx context.Context, path string) error {
		return c.Write(p.stdout, func(w io.Writer) error { return ctl.Read(ctx, path, "export", c.Args, w, export.Stream) })
	})
}

func (p *program) check(fs *flag.FlagSet) func(context.Context) error {
	deep := fs.Bool("deep", false, "read everything: every hash, record and blob")
	return onStore(fs, func(ctx context.Context, path string) error {
		s, err := db.Open(path, db.Options{ReadOnly: true})
		if err != nil {
			return err
		}
		defer s.Close()
		report, err := s.Check(ctx, *deep)
		if err != nil {
			return err
		}
		return report.Print(p.stdout)
	})
}

func (p *program) simulate(fs *flag.FlagSet) func(context.Context) error {
	o := &simulated.Options{Stats: true}
	o.Register(fs)
	addr := fs.String("addr", "127.0.0.1:8080", "`address` to listen on")
	return func(ctx context.Context) error {
		if err := simulated.Listen(ctx, *addr, *o, p.stderr); err != nil {
			return err
		}
		return engine.ErrInterrupted
	}
}
