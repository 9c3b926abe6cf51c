package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"hermes-batch/testdata/shipped"
)

const (
	runName   = "r"
	batchSize = 5
	maxTurns  = 4
	// patience is how long a call of the program may take; one that takes
	// longer hangs.
	patience = 2 * time.Minute
)

// site is one run that is tormented, in a folder of its own.
type site struct {
	t       *torment
	dir     string
	model   *model
	witness *witness
	kinds   []int // of its prompts
	workers int
	wrap    []string // of every call of the program
	root    string   // before dir, where the run's mounts are seen; "" if here
	deaths  int
	may     license
	wrong   []string
}

// site makes a folder with a dataset and a model.
func (t *torment) site(kinds []int, workers int) (*site, error) {
	t.sites++
	dir := filepath.Join(t.dir, fmt.Sprintf("run-%06d", t.sites)) // paths are in prompts' results, and so in their tokens
	s := &site{t: t, dir: dir, kinds: kinds, workers: workers}
	if err := os.MkdirAll(s.outside(), 0o777); err != nil {
		return nil, err
	}
	if err := writeDataset(filepath.Join(dir, "prompts.jsonl"), kinds); err != nil {
		return nil, err
	}
	var err error
	if s.model, err = newModel(t.latency); err != nil {
		return nil, err
	}
	s.witness = newWitness(s.folder("run.db"), s.model)
	return s, nil
}

// folder is the path of a file in the run's folder, as the harness sees it.
func (s *site) folder(name ...string) string {
	return filepath.Join(append([]string{s.root, s.dir, "data", runName}, name...)...)
}

// outside is the path of what commands have left of themselves.
func (s *site) outside(name ...string) string {
	return filepath.Join(append([]string{s.dir, "outside"}, name...)...)
}

// arguments of a run, which is begun or gone on with.
func (s *site) arguments(more ...string) []string {
	return append([]string{"--dataset_file=prompts.jsonl", fmt.Sprintf("--batch_size=%d", batchSize), "--run_name=" + runName, "--resume",
		"--model=simulated", "--base_url=" + s.model.url, "--distribution=local", "--work_dir=state",
		fmt.Sprintf("--max_turns=%d", maxTurns), fmt.Sprintf("--num_workers=%d", s.workers)}, more...)
}

func (s *site) program() shipped.Binary {
	return shipped.Binary{Path: s.t.binary, Dir: s.dir, Wrap: s.wrap, Patience: patience}
}

func (s *site) start(more ...string) (*shipped.Call, error) {
	return s.program().Start(s.arguments(more...)...)
}

// say notes what is wrong, after where.
func (s *site) say(where string, wrong ...string) {
	for _, w := range wrong {
		s.wrong = append(s.wrong, where+": "+w)
	}
}

// died looks at the run after a death of the program.
func (s *site) died(where string) error {
	s.deaths++
	s.t.count.deaths++
	if err := s.check(where); err != nil {
		return err
	}
	s.say(where, s.witness.look()...)
	return nil
}

// check lets the program check its store.
func (s *site) check(where string) error {
	if _, err := os.Lstat(s.folder("run.db")); errors.Is(err, fs.ErrNotExist) && len(s.witness.sessions) == 0 {
		return nil // it died before the store was there
	}
	e, err := s.program().Run("check", "--run_name="+runName, "--deep")
	if err != nil {
		return err
	}
	s.say(where+", check --deep", e.Wrong(0)...)
	return nil
}

// complete brings the run to its end without disturbance and compares it with
// one that never was disturbed.
func (s *site) complete(where string) error {
	c, err := s.start()
	if err != nil {
		return err
	}
	return s.completed(where, c.Wait())
}

// completed is complete for a call that has ended.
func (s *site) completed(where string, e shipped.Ending) error {
	calm, err := s.t.calm(s)
	if err != nil {
		return err
	}
	s.say(where+", last resume", e.Wrong(calm.code)...)
	return s.examine(where)
}

// examine looks for anything that is wrong with a complete run.
func (s *site) examine(where string) error {
	calm, err := s.t.calm(s)
	if err != nil {
		return err
	}
	if err := s.check(where); err != nil {
		return err
	}
	s.say(where, s.witness.look()...)
	s.say(where, s.witness.commands(s.dir)...)
	s.say(where, shipped.Left(s.dir)...)
	if list, _ := filepath.Glob(filepath.Join(s.dir, "state", "*", "*")); len(list) > 0 {
		s.say(where, fmt.Sprintf("sandboxes are left: %s", list))
	}
	if _, again := s.model.tally(); again > s.deaths*s.workers+s.witness.dropped {
		s.say(where, fmt.Sprintf("%d turns were answered again: %d were in flight at most, and %d went with a sandbox",
			again, s.deaths*s.workers, s.witness.dropped))
	}
	return s.compare(where, calm.files)
}

// compare compares the files with those of a calm run, and with what the store
// renders.
func (s *site) compare(where string, calm picture) error {
	files, err := depict(s.folder())
	if err != nil {
		s.say(where, err.Error())
		return nil
	}
	s.may.forked = s.witness.forks > 0
	s.say(where, files.against(calm, s.may)...)
	anew := filepath.Join(s.dir, "rendered")
	defer os.RemoveAll(anew)
	e, err := s.program().Run("export", "--run_name="+runName, "--out="+anew)
	if err != nil {
		return err
	}
	s.say(where+", export", e.Wrong(0)...)
	rendered, err := depict(anew)
	if err != nil {
		return err
	}
	s.say(where, files.equal(rendered)...)
	return nil
}

// removeSandbox takes away the folder of a session that is not finished, and
// returns its name, "" if there is none. Each session loses two at most: after
// the third it would fail.
func (s *site) removeSandbox() string {
	list, _ := filepath.Glob(filepath.Join(s.dir, "state", "*", "*"))
	s.t.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	for _, path := range list {
		name := filepath.Base(path)
		if strings.HasSuffix(name, "-a0") || strings.HasSuffix(name, "-a1") {
			s.witness.removed[name] = true
			if os.RemoveAll(path) == nil {
				return name
			}
		}
	}
	return ""
}

// leave ends what is left and reports. The folder stays if something is wrong.
func (s *site) leave() {
	s.model.stop()
	shipped.KillAll(s.dir)
	turns, again := s.model.tally()
	c := &s.t.count
	c.runs++
	c.turns, c.again = c.turns+turns, c.again+again
	c.reruns, c.forks = c.reruns+s.witness.rerunTotal(), c.forks+s.witness.forks
	for _, w := range slices.Compact(s.wrong) {
		s.t.violate("%s\n    in %s", w, s.dir)
	}
	if len(s.wrong) == 0 || !s.t.keep {
		os.RemoveAll(s.dir)
	}
}

// calmRun is an undisturbed run, the measure of all others over its dataset.
type calmRun struct {
	files picture
	code  int
	took  time.Duration
	kb    int // of disk that they take
}

// calm makes the undisturbed run over a site's dataset, once for each.
func (t *torment) calm(like *site) (*calmRun, error) {
	key := fmt.Sprint(like.kinds)
	if known := t.calms[key]; known != nil {
		return known, nil
	}
	s, err := t.site(like.kinds, 4)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(s.dir)
	defer s.model.stop()
	began := time.Now()
	c, err := s.start()
	if err != nil {
		return nil, err
	}
	e := c.Wait()
	run := &calmRun{code: e.Code, took: time.Since(began)}
	if wrong := e.Wrong(0, 1); len(wrong) > 0 {
		return nil, fmt.Errorf("undisturbed run: %s", wrong)
	}
	if run.files, err = depict(s.folder()); err != nil {
		return nil, err
	}
	if wrong := run.files.against(run.files, license{}); len(wrong) > 0 {
		return nil, fmt.Errorf("undisturbed run: %s", wrong)
	}
	run.kb, err = diskUse(s.folder())
	t.calms[key] = run
	return run, err
}

// diskUse is what the files of a folder take, in KB; holes take nothing.
func diskUse(dir string) (kb int, err error) {
	list, err := os.ReadDir(dir)
	for _, e := range list {
		info, err := e.Info()
		if err != nil {
			return 0, err
		}
		kb += int(info.Sys().(*syscall.Stat_t).Blocks) / 2
	}
	return kb, err
}
