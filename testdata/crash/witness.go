package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hermes-batch/db"
)

// witness remembers what a run's store held whenever nobody worked on it, and
// so knows what must not be lost and not be asked for again.
type witness struct {
	store    string // path
	model    *model
	sessions map[db.Ordinal]*session
	reruns   map[string]int // sandbox (7-0-a1) → reruns that were recorded in it
	forks    int
	dropped  int             // committed turns of attempts that were given up
	removed  map[string]bool // sandboxes that the harness has taken away
}

// session is what is known of one prompt.
type session struct {
	attempt  int
	steps    []db.Step
	asked    map[db.Hash]int // committed turn → requests for it by then
	finished bool            // has an outcome that is not to be tried again
}

func newWitness(store string, m *model) *witness {
	return &witness{store: store, model: m, sessions: map[db.Ordinal]*session{}, reruns: map[string]int{}, removed: map[string]bool{}}
}

// look compares the store with what it held before and returns what is wrong.
// A store that was never created holds nothing.
func (w *witness) look() (wrong []string) {
	s, err := db.Open(w.store, db.Options{ReadOnly: true})
	if errors.Is(err, db.ErrNotFound) && len(w.sessions) == 0 {
		return nil
	}
	if err != nil {
		return []string{err.Error()}
	}
	defer s.Close()
	next, err := s.NextIndex()
	if err != nil {
		return []string{err.Error()}
	}
	for index := range next {
		more, err := w.lookAt(s, db.MakeOrdinal(index, 0))
		if err != nil {
			more = append(more, err.Error())
		}
		wrong = append(wrong, more...)
	}
	return wrong
}

func (w *witness) lookAt(s *db.Store, o db.Ordinal) (wrong []string, err error) {
	prompt, err := s.Prompt(o.Index())
	if err != nil {
		return nil, err
	}
	steps, err := s.Thread(o)
	if err != nil {
		return nil, err
	}
	out, found, err := s.Outcome(o)
	if err != nil {
		return nil, err
	}
	now := &session{attempt: -1, steps: steps, asked: map[db.Hash]int{}, finished: found && out.End != "failed"}
	if len(steps) > 0 {
		now.attempt = steps[len(steps)-1].Attempt
	}
	before := w.sessions[o]
	if before == nil {
		before = &session{attempt: -1}
	}
	wrong = w.kept(o, before, now)
	turns := w.turns(now)
	if last := w.model.furthest(prompt.Text); last > len(turns) && now.attempt <= 0 {
		wrong = append(wrong, fmt.Sprintf("%s: turn %d was asked for, and only %d are committed", o, last, len(turns)))
	}
	for n, step := range turns {
		times := w.model.times(turn{prompt.Text, n})
		if known, ok := before.asked[step]; ok && known != times {
			wrong = append(wrong, fmt.Sprintf("%s: turn %d was committed and asked for again (%d requests, then %d)", o, n, known, times))
		}
		now.asked[step] = times
	}
	w.sessions[o] = now
	return wrong, nil
}

// kept finds steps that were committed and are not there any more. An attempt
// is given up only if its sandbox is gone, or to try a failed prompt again.
func (w *witness) kept(o db.Ordinal, before, now *session) (wrong []string) {
	if before.finished && !now.finished {
		wrong = append(wrong, fmt.Sprintf("%s: its outcome is lost", o))
	}
	if now.attempt > before.attempt && before.attempt >= 0 {
		return append(wrong, w.forked(o, before, now)...)
	}
	for i, step := range before.steps {
		if i >= len(now.steps) || now.steps[i].Hash != step.Hash {
			return append(wrong, fmt.Sprintf("%s: committed step %d of attempt %d (%s) is lost", o, step.Number, step.Attempt, step.Kind))
		}
	}
	return wrong
}

// forked checks a new attempt: the old one's sandbox is gone, and what was made
// before it is kept.
func (w *witness) forked(o db.Ordinal, before, now *session) (wrong []string) {
	for _, step := range now.steps {
		if step.Kind != db.KindAttempt || step.Attempt <= before.attempt {
			continue
		}
		rec, err := step.Decode()
		if err != nil {
			return []string{err.Error()}
		}
		old := fmt.Sprintf("%d-0-a%d", o.Index(), rec.(*db.Attempt).Parent)
		if rec.(*db.Attempt).Reason == "sandbox_lost" {
			w.forks++
			if !w.removed[old] {
				wrong = append(wrong, fmt.Sprintf("%s: its sandbox %s was given up, and nobody had taken it away", o, old))
			}
		}
	}
	inBox := false
	for i, step := range before.steps {
		inBox = inBox || step.Kind == db.KindSandbox && step.Attempt == before.attempt
		switch kept := i < len(now.steps) && now.steps[i].Hash == step.Hash; {
		case kept:
		case step.Kind == db.KindTurn && (inBox || i == len(before.steps)-1): // or the last word of a prompt that failed
			w.dropped++
		case !inBox:
			return append(wrong, fmt.Sprintf("%s: attempt %d does not keep step %d of attempt %d (%s)", o, now.attempt, step.Number, step.Attempt, step.Kind))
		}
	}
	return wrong
}

// turns lists the committed replies of a session in their order, and counts its
// reruns.
func (w *witness) turns(now *session) (list []db.Hash) {
	reruns := map[string]int{}
	for _, step := range now.steps {
		switch step.Kind {
		case db.KindTurn:
			list = append(list, step.Hash)
		case db.KindRejected:
			if rec, err := step.Decode(); err == nil && rec.(*db.Rejected).Why == "continued" {
				list = append(list, step.Hash)
			}
		case db.KindRerun:
			reruns[fmt.Sprintf("%d-0-a%d", step.Ordinal.Index(), step.Attempt)]++
		}
	}
	for box, n := range reruns {
		w.reruns[box] = max(w.reruns[box], n)
	}
	return list
}

// commands checks by the lines that commands have left outside, each the folder
// in which it was, that all of a prompt's ran in its own sandboxes, and none
// twice in one of them unless that is recorded.
func (w *witness) commands(dir string) (wrong []string) {
	list, _ := filepath.Glob(filepath.Join(dir, "outside", "*"))
	for _, path := range list {
		text, err := os.ReadFile(path)
		if err != nil {
			return []string{err.Error()}
		}
		times := map[string]int{}
		for _, line := range workFolder.FindAll(text, -1) { // the end of a line may be missing, if its command was ended
			times[filepath.Base(string(line))]++
		}
		for box, n := range times {
			if !strings.HasPrefix(box, filepath.Base(path)+"-0-a") {
				wrong = append(wrong, fmt.Sprintf("a command of prompt %s ran in sandbox %s", filepath.Base(path), box))
			}
			if allowed := 1 + w.reruns[box]; n > allowed {
				wrong = append(wrong, fmt.Sprintf("the command of sandbox %s ran %d times, with %d reruns recorded", box, n, w.reruns[box]))
			}
		}
	}
	return wrong
}

func (w *witness) rerunTotal() (n int) {
	for _, k := range w.reruns {
		n += k
	}
	return n
}
