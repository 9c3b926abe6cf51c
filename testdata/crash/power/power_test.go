package power

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes-batch/testdata/machine"
	"hermes-batch/testdata/shipped"
)

var (
	asked = Config{States: 400, Resumes: 6, Quick: true, Log: os.Stderr}
	kept  string
)

func init() {
	flag.StringVar(&asked.Binary, "power.binary", "", "`program` to record (default: built from this tree)")
	flag.StringVar(&kept, "power.dir", "", "`folder` for recordings, which stay there after violations (default: a temporary one)")
	flag.Uint64Var(&asked.Seed, "power.seed", 1, "of the choice of states")
	flag.IntVar(&asked.States, "power.states", asked.States, "to look at")
	flag.IntVar(&asked.Resumes, "power.resumes", asked.Resumes, "states to go on from")
	flag.BoolVar(&asked.Quick, "power.quick", true, "short recordings")
	flag.StringVar(&asked.Recording, "power.recording", "", "`folder` of an earlier recording")
	flag.IntVar(&asked.Only, "power.only", 0, "`number` of the one state to look at")
}

// TestPowerCuts takes flags after -args, as in
//
//	go test ./testdata/crash/power -v -run Cuts -args -power.quick=false -power.states=20000 -power.dir=/tmp
func TestPowerCuts(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the program")
	}
	c := asked
	if c.Dir = kept; c.Dir == "" {
		c.Dir = t.TempDir()
	}
	if c.Binary == "" && c.Recording == "" {
		c.Binary = build(t)
	}
	r, err := Run(t.Context(), c)
	if errors.Is(err, ErrNoStrace) {
		machine.Lacks(t, err.Error())
	}
	var text strings.Builder
	r.Print(&text)
	t.Log("\n" + text.String())
	if err != nil {
		t.Fatal(err)
	}
	if c.Recording != "" {
		if len(r.Violations) > 0 {
			t.Error("violations")
		}
		return
	}
	if !r.Passed() {
		t.Error("violations, or a control without any")
	}
	if r.States < c.States {
		t.Errorf("only %d states", r.States)
	}
	for _, p := range phases {
		if r.Phases[p].States == 0 {
			t.Errorf("no state in %s", p)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(c.Dir, "*")); r.Recording == "" && kept == "" && len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hermes-batch")
	if err := shipped.Build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRunStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	_, err := Run(ctx, Config{Binary: "/bin/true", Dir: dir, Quick: true})
	if errors.Is(err, ErrNoStrace) {
		machine.Lacks(t, err.Error())
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
