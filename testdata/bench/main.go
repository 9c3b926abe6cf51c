package main

import (
	"context"
	"flag"
	"io"
	"os"
	"strings"

	"hermes-batch/testdata/figures"
	"hermes-batch/testdata/shipped"
)

// options are the flags.
type options struct {
	binary, vs  string
	json        string
	dir         string
	only        string
	count       int
	long, large bool
	publish     bool
}

func (o *options) register(fs *flag.FlagSet) {
	fs.StringVar(&o.binary, "binary", "", "`program` to measure (default: built from this tree)")
	fs.StringVar(&o.vs, "vs", "", "`program` to compare with: both run in turns")
	fs.StringVar(&o.json, "json", "", "put the figures into this `file` too, scenario by scenario; those that it holds of others stay")
	fs.StringVar(&o.dir, "dir", "", "`folder` on the disk to measure (default: the system's temporary folder)")
	fs.StringVar(&o.only, "only", "", "`pattern` of the scenarios to run: "+strings.Join(names(), ", "))
	fs.IntVar(&o.count, "count", 3, "samples of each figure, of which the median counts")
	fs.BoolVar(&o.long, "long", false, "more prompts, and 2,000 workers as well")
	fs.BoolVar(&o.publish, "publish", false, "measure nothing: draw the pictures, and fill the tables of README.md and BENCHMARKS.md, from "+figuresDir)
	fs.BoolVar(&o.large, "large", false, "1,000,000 prompts as well: a whole run, a start and a resume; takes 15 GB of disk and an hour")
}

func main() {
	if n := os.Getenv(bareKey); n != "" {
		beBare(n)
	}
	var o options
	o.register(flag.CommandLine)
	flag.Parse()
	shipped.Main("bench", o.do)
}

func (o *options) do(ctx context.Context) error {
	if o.publish {
		return publish(".")
	}
	return o.run(ctx, o.sizes(), os.Stdout, os.Stderr)
}

// run measures and reports. Scenarios that did not work are an error, after
// the figures of the others.
func (o *options) run(ctx context.Context, size sizes, out, log io.Writer) error {
	only, err := shipped.Pick(o.only, names())
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(o.dir, "hermes-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	programs, err := o.programs(ctx, dir)
	if err != nil {
		return err
	}
	facts, err := figures.ReadMachine(dir)
	if err != nil {
		return err
	}
	facts.Print(out)
	b := &bench{
		dir: dir, programs: programs, size: size, log: log, json: o.json, command: o.command(), tree: figures.Commit(ctx),
		report: figures.Report{Machine: facts, Programs: labels(programs)},
	}
	failed := b.run(ctx, only)
	b.report.Print(out)
	return failed
}

// command measures one scenario again, when its name is put behind it.
func (o *options) command() string {
	command := "go run ./testdata/bench"
	if o.long {
		command += " -long"
	}
	if o.large {
		command += " -large"
	}
	return command + " -only "
}

// programs are what is measured; the first is the one whose figures have
// targets.
func (o *options) programs(ctx context.Context, dir string) ([]program, error) {
	path, err := shipped.Given(ctx, o.binary, dir)
	if err != nil {
		return nil, err
	}
	list := []program{{label: figures.This, path: path}}
	if o.vs == "" {
		return list, nil
	}
	if path, err = shipped.Given(ctx, o.vs, dir); err != nil {
		return nil, err
	}
	return append(list, program{label: figures.Other, path: path}), nil
}

func labels(programs []program) (list []string) {
	for _, p := range programs {
		list = append(list, p.label)
	}
	return list
}
