package export

import "hermes-batch/db"

// planned are the prompts of the present plan.
type planned struct {
	db.Indices
	count int
}

func readPlan(store *db.Store) (planned, error) {
	set, err := store.Planned()
	return planned{set, set.Len()}, err
}

// counts tells whether an outcome takes part in the totals: those of the plan,
// and what is finished outside of it.
func (p planned) counts(o db.Ordinal, v Verdict) bool { return v.Finished() || p.Has(o.Index()) }

// answers tells whether an outcome at this place takes a row of the plan off
// the pending ones.
func (p planned) answers(o db.Ordinal) bool { return o.Rollout() == 0 && p.Has(o.Index()) }
