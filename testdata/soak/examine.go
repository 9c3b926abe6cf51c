package main

import (
	"fmt"
	"slices"
	"strings"

	"hermes-batch/db"
	"hermes-batch/export"
)

// findings are what the examination counted.
type findings struct {
	counts
	ends         map[string]int // by end and reason
	explained    int            // that ended otherwise than they were to, for the faults that they met
	turns, again int            // that were answered, and answered once more
}

// counts are those of statistics.json and of status: each prompt is one of them.
type counts struct {
	Total, Kept, Filtered, Discarded, Failed, Pending int
}

func (c counts) wrong() (wrong []string) {
	if sum := c.Kept + c.Filtered + c.Discarded + c.Failed + c.Pending; sum != c.Total {
		wrong = append(wrong, fmt.Sprintf("the counts do not add up: %+v", c))
	}
	return wrong
}

// check lets the program check its store.
func (s *soak) check() error {
	e, err := s.program().Run("check", "--run_name="+runName, "--deep")
	if err == nil {
		s.say("check --deep", e.Wrong(0)...)
	}
	return err
}

// examine looks for anything that is wrong with the run, now that it is over.
func (s *soak) examine() error {
	verdicts, err := s.outcomes()
	if err != nil {
		return err
	}
	s.found.turns, s.found.again = s.end.tally(func(n int) bool { return s.deal.kind(n).again })
	if most := (s.deaths + 1) * s.size.workers; s.found.again > most {
		s.say("wire", fmt.Sprintf("%d turns were answered again: %d were in flight at most", s.found.again, most))
	}
	if err := s.files(verdicts); err != nil {
		return err
	}
	s.left(verdicts)
	return nil
}

// verdicts are those of all prompts that have an outcome.
type verdicts map[int]export.Verdict

// of lists the prompts with one of the verdicts.
func (v verdicts) of(any ...export.Verdict) (numbers []int) {
	for n, verdict := range v {
		if slices.Contains(any, verdict) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// outcomes holds the ends of all prompts against what they are about.
func (s *soak) outcomes() (verdicts, error) {
	store, err := db.Open(s.folder("run.db"), db.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	all := verdicts{}
	s.found.ends = map[string]int{}
	err = store.OutcomeHeads(0, func(h db.OutcomeHead) bool {
		n, end := h.Ordinal.Index(), h.End+" "+h.Reason
		all[n] = export.Judge(h, export.Filters{})
		s.found.ends[end]++
		switch k := s.deal.kind(n); {
		case n >= s.planned:
			s.say("outcomes", fmt.Sprintf("prompt %d has one, and is not in the plan", n))
		case end == k.end:
		case k.explains(s.end.faultsOf(n), end, s.end.outages > 0):
			s.found.explained++
		default:
			s.say("outcomes", fmt.Sprintf("prompt %d (%s) ended as %q, not %q, after the faults %q", n, k.name, end, k.end, namesOf(s.end.faultsOf(n))))
		}
		return true
	})
	if len(all) != s.planned {
		s.say("outcomes", fmt.Sprintf("%d of %d prompts have one", len(all), s.planned))
	}
	return all, err
}

// tries are how many failures in a row a prompt takes, and cuts how many cut
// calls.
const tries, cuts = 6, 3

// explains tells whether a prompt of this kind ends so that met these faults in a
// row: the last one says how. Of connections that were refused nobody knows which
// prompt met them.
func (k *kind) explains(met []*fault, end string, refused bool) bool {
	cut, failed := 0, 0
	last := ""
	for _, f := range met {
		switch {
		case f.name == cutCall:
			cut++
		case f.reason != "":
			failed, last = failed+1, "failed "+f.reason
		}
	}
	fails := strings.HasPrefix(k.end, "failed ") // by itself, whenever no fault is in its way
	enough := failed >= tries || fails || refused && failed >= tries/2
	switch {
	case end == "partial cut_replies":
		return cut >= cuts
	case end == "failed network" && refused:
		return enough
	}
	return end == last && enough
}

func namesOf(met []*fault) (list []string) {
	for _, f := range met {
		list = append(list, f.name)
	}
	return list
}
