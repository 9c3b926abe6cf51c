package engine

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"hermes-batch/db"
	"hermes-batch/engine/flags"
	"hermes-batch/tools"
)

// badLinesShown bounds what start-up says of bad lines; errors.jsonl has all.
const badLinesShown = 20

// hintAfter prompts in a row of which none was kept, the user is told.
const hintAfter = 20

// Inherit gives the flags of run that nobody set the values of the run's last
// session.
func Inherit(fs *flag.FlagSet, store *db.Store) error {
	last, found, err := store.LastLaunch()
	if err != nil || !found {
		return err
	}
	if err := flags.Inherit(fs, last.Flags, notInherited...); err != nil {
		return Usagef("flags of the run's last session: %v", err)
	}
	return nil
}

// ListDistributions prints the built-in distributions and those of the
// options' file.
func ListDistributions(w io.Writer, o *Options) error {
	all, err := allDistributions(o)
	if err != nil {
		return err
	}
	return tools.List(w, all, tools.Toolsets())
}

var errEnough = errors.New("enough")

// Announce tells what the user should know before the work begins: bad lines
// of the dataset and toolsets that cannot work here.
func (r *Run) Announce() error {
	plan, _, err := r.store.Plan()
	if err != nil {
		return err
	}
	if r.replanned { // else the user has seen them
		err = r.announceBadLines(plan.Bad)
	} else if plan.Bad > 0 {
		r.log.Warn(badLines(plan.Bad, "") + " in the dataset, see errors.jsonl")
	}
	r.announceToolsets()
	return err
}

// announceBadLines names the first bad lines of the dataset, and how many more
// there are.
func (r *Run) announceBadLines(bad int) error {
	shown := 0
	err := r.store.BadLines(func(b db.BadLine) error {
		if shown == badLinesShown {
			return errEnough
		}
		shown++
		r.log.Warn("bad line skipped", "line", b.Line, "reason", b.Reason, "hint", b.Hint)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if bad > shown {
		r.log.Warn(badLines(bad-shown, "more ") + ", see errors.jsonl")
	}
	return nil
}

// badLines is how many there are; more stands before the noun.
func badLines(n int, more string) string {
	if n == 1 {
		return "1 " + more + "bad line"
	}
	return fmt.Sprintf("%d %sbad lines", n, more)
}

// announceToolsets names the toolsets of the distribution that cannot work here.
func (r *Run) announceToolsets() {
	works := false
	var lacking []string
	for _, c := range r.dist.Chances {
		for _, set := range r.offers.sets {
			if set.Name != c.Toolset || c.Percent == 0 {
				continue
			}
			if lacks := set.Lacks(); lacks != "" {
				lacking = append(lacking, set.Name+" (needs "+lacks+")")
			} else {
				works = true
			}
		}
	}
	if len(lacking) > 0 {
		r.log.Warn("toolsets that are not offered: " + strings.Join(lacking, ", ") + "; --distribution=local does without")
	}
	if !works {
		r.log.Warn("no toolset of the distribution works here: the run goes on without tools", "distribution", r.dist.Name)
	}
}
