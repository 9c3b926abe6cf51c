package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"hermes-batch/testdata/figures"
	"hermes-batch/testdata/shipped"
)

// options are the flags.
type options struct {
	binary  string
	json    string
	dir     string
	time    time.Duration
	kill    time.Duration
	workers int
	faults  float64
	seed    uint64
	keep    bool
}

func (o *options) register(fs *flag.FlagSet) {
	fs.StringVar(&o.binary, "binary", "", "`program` to soak (default: built from this tree)")
	fs.StringVar(&o.json, "json", "", "merge the figures into this `file`")
	fs.StringVar(&o.dir, "dir", "", "`folder` for the run (default: the system's temporary folder)")
	fs.DurationVar(&o.time, "time", 20*time.Minute, "for which the run goes on before it is stopped, resumed and examined")
	fs.DurationVar(&o.kill, "kill", 0, "time from one SIGKILL and resume to the next (default: none, so that one process lives all the time)")
	fs.IntVar(&o.workers, "workers", 24, "prompts in flight")
	fs.Float64Var(&o.faults, "faults", 0.1, "`part` of the requests that meet a fault, and of the other replies that have an odd form")
	fs.Uint64Var(&o.seed, "seed", 0, "of all that is drawn (default: from the time)")
	fs.BoolVar(&o.keep, "keep", false, "keep the run's folder if something is wrong")
}

// size is that of a soak which is to be published.
func (o *options) size() size {
	return size{time: o.time, kill: o.kill, workers: o.workers, prompts: 1000 + int(o.time.Seconds())*100, promptTimeout: 2 * time.Minute,
		chaos: chaos{seed: o.seed, faults: o.faults, odd: o.faults, latency: 250 * time.Millisecond, limit: 5 * time.Second, outages: time.Minute}}
}

func main() {
	var o options
	o.register(flag.CommandLine)
	flag.Parse()
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano()) % 1_000_000
	}
	shipped.Main("soak", func(ctx context.Context) error { return o.run(ctx, os.Stdout, os.Stderr) })
}

// errViolated says that something was lost or left; what it was has been
// printed.
var errViolated = errors.New("violations")

func (o *options) run(ctx context.Context, out, log io.Writer) error {
	dir, err := shipped.Folder(o.dir, "soak-")
	if err != nil {
		return err
	}
	binary, err := shipped.Given(ctx, o.binary, dir)
	if err != nil {
		return err
	}
	facts, err := figures.ReadMachine(dir)
	if err != nil {
		return err
	}
	facts.Print(out)
	fmt.Fprintln(log, o.command())
	s, err := newSoak(dir, binary, o.size(), kinds, log)
	if err != nil {
		return err
	}
	failed := s.run(ctx)
	if n := len(s.wrong); n > 0 {
		failed = errors.Join(failed, fmt.Errorf("%d %w", n, errViolated))
	}
	if failed != nil && o.keep {
		fmt.Fprintln(log, "kept in", dir)
	} else {
		defer os.RemoveAll(dir)
	}
	if s.found.Total == 0 {
		return failed
	}
	results := figures.Results{Commit: figures.Commit(ctx)}
	s.figures(&results, o.command())
	report := figures.Report{Machine: facts, Programs: []string{figures.This}, Figures: results.Figures()}
	report.Table(out)
	s.print(out)
	if o.json == "" {
		return failed
	}
	return errors.Join(failed, report.Merge(o.json))
}

// command does the same again.
func (o *options) command() string {
	command := fmt.Sprintf("go run ./testdata/soak -seed %d -time %s -workers %d", o.seed, o.time, o.workers)
	if o.kill > 0 {
		command += fmt.Sprintf(" -kill %s", o.kill)
	}
	return command
}
