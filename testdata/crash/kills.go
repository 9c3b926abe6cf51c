package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hermes-batch/testdata/shipped"
)

// rendered is how often the files of a complete run are deleted and the program
// killed while it renders them.
const rendered = 3

// kills kills runs with SIGKILL at random moments until they are complete, and
// then while they render their files once more.
func (t *torment) kills(ctx context.Context) error {
	for round := 0; !t.killed(ctx); round++ {
		if err := t.killRun(ctx, round); err != nil {
			return err
		}
	}
	return nil
}

func (t *torment) killed(ctx context.Context) bool {
	if t.scale.kills > 0 && ctx.Err() == nil {
		return t.count.deaths >= t.scale.kills
	}
	return ctx.Err() != nil || time.Now().After(t.deadline)
}

func (t *torment) killRun(ctx context.Context, round int) error {
	s, err := t.site(some(t.scale.prompts), []int{1, 4, 16}[round%3])
	if err != nil {
		return err
	}
	defer s.leave()
	calm, err := t.calm(s)
	if err != nil {
		return err
	}
	for kill := 0; !t.killed(ctx); kill++ {
		where := fmt.Sprintf("round %d, %d workers, kill %d", round, s.workers, kill)
		ended, err := s.strike(where, calm.took/2)
		if err != nil {
			return err
		}
		if ended {
			break
		}
	}
	for kill := 0; kill < rendered && !t.killed(ctx); kill++ {
		where := fmt.Sprintf("round %d, %d workers, kill %d while the files are rendered", round, s.workers, kill)
		files, _ := filepath.Glob(s.folder("*.*"))
		for _, path := range files {
			if filepath.Base(path) != "run.db" {
				os.Remove(path)
			}
		}
		if _, err := s.strike(where, 60*time.Millisecond); err != nil {
			return err
		}
	}
	return s.complete(fmt.Sprintf("round %d, %d workers", round, s.workers))
}

// strike starts the program and kills it within a time. Now and then all that
// it has started dies too, and a sandbox is gone afterwards.
func (s *site) strike(where string, within time.Duration) (ended bool, err error) {
	after := time.Duration(s.t.random.Int64N(int64(within)))
	kind := s.t.random.IntN(10)
	c, err := s.start()
	if err != nil {
		return false, err
	}
	if c.Within(after) {
		s.say(where+", which came too late", c.Wait().Wrong(0, 1)...)
		return true, nil
	}
	c.Kill()
	where += fmt.Sprintf(" after %s", after.Round(time.Millisecond/10))
	if kind < 3 {
		where += fmt.Sprintf(", with %d processes", shipped.KillAll(s.dir))
	}
	if kind == 0 {
		where += ", and without sandbox " + s.removeSandbox()
	}
	return false, s.died(where)
}
