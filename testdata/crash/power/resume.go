package power

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hermes-batch/engine/simulated"
)

// resumes lets the program check some states of each phase and go on from them.
func (s *simulation) resumes(ctx context.Context) error {
	if s.Resumes < 0 {
		return nil
	}
	expected := map[string][]string{}
	for _, p := range s.plans {
		rows, err := s.calm(ctx, p)
		if err != nil {
			return fmt.Errorf("%s without interruption: %w", p.Name, err)
		}
		expected[p.Name] = rows
	}
	random := rand.New(rand.NewPCG(s.Seed, 1))
	for _, phase := range phases {
		type pick struct {
			p  *plan
			st *state
		}
		var all []pick
		for _, p := range s.plans {
			for _, st := range p.states {
				if st.point.phase == phase {
					all = append(all, pick{p, st})
				}
			}
		}
		n := min((s.Resumes+len(phases)-1)/len(phases), len(all))
		for i := range n {
			from, to := i*len(all)/n, (i+1)*len(all)/n
			one := all[from+random.IntN(to-from)]
			s.tryResume(ctx, one.p, one.st, expected[one.p.Name])
			if ctx.Err() != nil {
				return ctx.Err()
			}
			fmt.Fprintf(s.Log, "resumed state %d of %s in %s\n", one.st.number, one.p.Name, phase)
		}
	}
	return nil
}

// tryResume counts a resume, and as a violation what is wrong with it.
func (s *simulation) tryResume(ctx context.Context, p *plan, st *state, expected []string) {
	err := s.resume(ctx, p, st, expected)
	if s.report.Resumes++; err == nil || ctx.Err() != nil {
		return
	}
	s.report.Violations = append(s.report.Violations, Violation{State: st.number, Scenario: p.Name, Phase: st.point.phase,
		Line: st.point.line, How: st.how + ", resumed", What: err.Error()})
}

// calm returns the rows of a run without interruption.
func (s *simulation) calm(ctx context.Context, p *plan) (rows []string, err error) {
	err = s.inFolder(func(dir string) error {
		model, err := newServer(simulated.Options{})
		if err != nil {
			return err
		}
		defer model.Close()
		run := filepath.Join(dir, runFolder)
		if err := makeFolder(run); err != nil {
			return err
		}
		if err := s.program.must(ctx, p.code, run, "", withModel(p.expected, model.URL)...); err != nil {
			return err
		}
		rows, err = readRows(filepath.Join(run, p.rows))
		return err
	})
	return rows, err
}

// resume puts a state on the disk and goes on from it. All work folders are
// gone.
func (s *simulation) resume(ctx context.Context, p *plan, st *state, expected []string) error {
	return s.inFolder(func(dir string) error {
		run := filepath.Join(dir, runFolder)
		if err := st.materialise(p.r, run); err != nil {
			return err
		}
		model, err := newServer(simulated.Options{})
		if err != nil {
			return err
		}
		defer model.Close()
		args, check := p.again, []string{"check", "--deep", "--store=" + p.store}
		if _, err := os.Stat(filepath.Join(run, p.store)); err != nil {
			args = p.anew
		} else if err := s.program.must(ctx, 0, run, "", check...); err != nil {
			return err
		}
		if err := s.program.must(ctx, p.code, run, "", withModel(args, model.URL)...); err != nil {
			return err
		}
		if err := s.program.must(ctx, 0, run, "", check...); err != nil {
			return err
		}
		rows, err := readRows(filepath.Join(run, p.rows))
		if err != nil {
			return err
		}
		return errors.Join(compare(rows, expected), model.askedTwice(p, st))
	})
}

// askedTwice tells of turns that a request had shown to be durable, and that
// were asked for again. Where a sandbox is lost, that has to be.
func (s *server) askedTwice(p *plan, st *state) error {
	store := st.tree(p.r).find(p.r.root, p.store)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range p.r.acks {
		first, asked := s.first[a.prompt]
		if a.line <= st.point.line && a.store == store && a.prompt != "" && needsNoSandbox(a.prompt) && asked && first < a.turns {
			return fmt.Errorf("%s, and %q was asked for its turn %d again", a.what, a.prompt, first+1)
		}
	}
	return nil
}

// What may differ between two runs: times, what a lost sandbox costs, and the
// names of folders, which count as tokens as well.
var (
	varying = regexp.MustCompile(`"(timestamp|tool_reruns|attempts|prompt_tokens)":("[^"]*"|\d+)`)
	folders = regexp.MustCompile(`[^"\\ ]*/state/[0-9a-f-]{36}/(\d+-\d+)-a\d+`)
)

// readRows reads rows without what may differ between two runs.
func readRows(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	text = folders.ReplaceAll(varying.ReplaceAll(text, nil), []byte("$1"))
	return slices.Collect(strings.Lines(string(bytes.TrimSpace(text)))), nil
}

func compare(rows, expected []string) error {
	if len(rows) != len(expected) {
		return fmt.Errorf("%d rows, and %d without interruption", len(rows), len(expected))
	}
	for i := range rows {
		if rows[i] != expected[i] {
			return fmt.Errorf("row %d differs from a run without interruption: %s", i, difference(rows[i], expected[i]))
		}
	}
	return nil
}

// difference shows where two texts begin to differ.
func difference(a, b string) string {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	part := func(s string) string { return s[max(0, at-60):min(len(s), at+60)] }
	return fmt.Sprintf("%q and not %q", part(a), part(b))
}
