package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hermes-batch/testdata/figures"
	"hermes-batch/testdata/shipped"
)

// options are the flags.
type options struct {
	binary string
	only   string
	json   string
	dir    string
	time   time.Duration
	seed   uint64
	kills  int
	long   bool
	keep   bool
}

func (o *options) register(fs *flag.FlagSet) {
	fs.StringVar(&o.binary, "binary", "", "`program` to torment (default: built from this tree)")
	fs.StringVar(&o.only, "only", "", "`pattern` of the scenarios to run: "+strings.Join(names(), ", "))
	fs.StringVar(&o.json, "json", "", "merge the figures into this `file`")
	fs.StringVar(&o.dir, "dir", "", "`folder` for the runs (default: the system's temporary folder)")
	fs.DurationVar(&o.time, "time", 5*time.Minute, "for all scenarios together, about")
	fs.Uint64Var(&o.seed, "seed", 0, "of all that is drawn (default: from the time)")
	fs.IntVar(&o.kills, "kills", 0, "random kills, however long they take (default: as many as fit into the time)")
	fs.BoolVar(&o.long, "long", false, "all injection points, and programs that are stopped stay so for a minute")
	fs.BoolVar(&o.keep, "keep", false, "keep the folders of runs in which something is wrong")
}

func main() {
	var o options
	o.register(flag.CommandLine)
	flag.Parse()
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano()) % 1_000_000
	}
	shipped.Main("crash", func(ctx context.Context) error { return o.run(ctx, os.Stdout, os.Stderr) })
}

// errViolated says that something was lost; what it was has been printed.
var errViolated = errors.New("violations")

func (o *options) run(ctx context.Context, out, log io.Writer) error {
	only, err := shipped.Pick(o.only, names())
	if err != nil {
		return err
	}
	dir, err := shipped.Folder(o.dir, "hermes-crash-")
	if err != nil {
		return err
	}
	defer os.Remove(dir) // unless runs are kept in it
	defer os.Remove(filepath.Join(dir, shipped.Built))
	binary, err := shipped.Given(ctx, o.binary, dir)
	if err != nil {
		return err
	}
	facts, err := figures.ReadMachine(dir)
	if err != nil {
		return err
	}
	facts.Print(out)
	t := newTorment(dir, binary, o.seed, log)
	t.scale, t.keep = o.scale(), o.keep
	fmt.Fprintf(log, "%s -only '%s'\n", o.command(), o.only)
	results := figures.Results{Commit: figures.Commit(ctx)}
	failed := t.run(ctx, only)
	t.print(out)
	if o.json == "" {
		return failed
	}
	t.figures(&results, o.command())
	return errors.Join(failed, figures.Report{Machine: facts, Programs: []string{figures.This}, Figures: results.Figures()}.Merge(o.json))
}

// command does the same again, when the scenarios are put behind it.
func (o *options) command() string {
	command := fmt.Sprintf("go run ./testdata/crash -seed %d", o.seed)
	switch {
	case o.long:
		command += " -long"
	default:
		command += fmt.Sprintf(" -time %s", o.time)
	}
	if o.kills > 0 {
		command += fmt.Sprintf(" -kills %d", o.kills)
	}
	return command
}
