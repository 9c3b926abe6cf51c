// Command fuzzers runs every fuzz target of the module, one after the other,
// each for an equal part of the time that is left:
//
//	go run ./testdata/fuzzers -time 10m -only 'db|Config'
//
// What a target finds is written to testdata/fuzz/TARGET/ of its package, and
// is a test from then on.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"hermes-batch/testdata/shipped"
)

// minimizing bounds the runs to make one input smaller. The default, a minute
// each, leaves no time for looking where a target is slow.
const minimizing = "10x"

func main() {
	total := flag.Duration("time", 10*time.Minute, "for all targets together, about")
	only := flag.String("only", "", "`pattern` of the targets to run, as in db.FuzzOpen")
	flag.Parse()
	shipped.Main("fuzzers", func(ctx context.Context) error { return run(ctx, *total, *only, os.Stdout) })
}

// target is one fuzz test.
type target struct{ pkg, name string }

func (t target) String() string { return t.pkg + "." + t.name }

func run(ctx context.Context, total time.Duration, only string, out io.Writer) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	end := time.Now().Add(total)
	listed, err := goCommand(ctx, "test", "-list", "^Fuzz", "./...")
	if err != nil {
		return err
	}
	targets := targetsOf(listed, pattern)
	if len(targets) == 0 {
		return errors.New("no targets")
	}
	var found []error
	for i, t := range targets {
		limit := max(time.Until(end)/time.Duration(len(targets)-i), time.Second).Round(time.Second)
		err := t.run(ctx, limit, out)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		found = append(found, err)
	}
	return errors.Join(found...)
}

// targetsOf reads what go test -list prints: names, and after them the package.
func targetsOf(listed string, pattern *regexp.Regexp) (targets []target) {
	from := 0
	for line := range strings.Lines(listed) {
		words := strings.Fields(line)
		switch {
		case len(words) == 1 && strings.HasPrefix(words[0], "Fuzz"):
			targets = append(targets, target{name: words[0]})
		case len(words) >= 2 && words[0] == "ok":
			for ; from < len(targets); from++ {
				targets[from].pkg = words[1]
			}
		}
	}
	kept := targets[:0]
	for _, t := range targets {
		if pattern.MatchString(t.String()) {
			kept = append(kept, t)
		}
	}
	return kept
}

func (t target) run(ctx context.Context, limit time.Duration, out io.Writer) error {
	printed, err := goCommand(ctx, "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", limit.String(), "-fuzzminimizetime", minimizing, t.pkg)
	if err != nil && !onlyLate(printed) {
		fmt.Fprintf(out, "%s\n%s", t, printed)
		return fmt.Errorf("%s: %w", t, err)
	}
	fmt.Fprintf(out, "%s: %s in %v\n", t, executions(printed), limit)
	return nil
}

// onlyLate tells a target that found nothing and failed because its time was
// up: the fuzzer sometimes takes the end of its own time for an error.
func onlyLate(printed string) bool {
	return strings.Contains(printed, "\n    context deadline exceeded\n") && !strings.Contains(printed, "Failing input")
}

var progress = regexp.MustCompile(`execs: (\d+) \(.*interesting: (\d+)`)

// executions says how much a target did, by the last line about it.
func executions(printed string) string {
	all := progress.FindAllStringSubmatch(printed, -1)
	if len(all) == 0 {
		return "no time"
	}
	last := all[len(all)-1]
	return last[1] + " inputs, " + last[2] + " of interest"
}

// goCommand runs the go command and returns what it printed. Temporary files go
// to memory where that can be had: targets that open stores sync them.
func goCommand(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Env = os.Environ()
	if dir, err := os.MkdirTemp("/dev/shm", "hermes-fuzz-"); err == nil {
		defer os.RemoveAll(dir)
		cmd.Env = append(cmd.Env, "TMPDIR="+dir)
	}
	err := cmd.Run()
	if err != nil && len(args) > 1 && args[1] == "-list" {
		err = fmt.Errorf("%w: %s", err, out.String())
	}
	return out.String(), err
}
