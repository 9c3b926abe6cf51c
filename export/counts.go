package export

import "hermes-batch/db"

// Counts are the numbers of prompts by verdict. Total, the present plan and
// the finished rows outside of it, is the sum of the other five; Completed,
// Incomplete and Partial divide the finished ones (kept, filtered and
// discarded) by their end.
type Counts struct {
	Total     int `json:"total"`
	Kept      int `json:"kept"`
	Filtered  int `json:"filtered"`
	Discarded int `json:"discarded"`
	Failed    int `json:"failed"`
	Pending   int `json:"pending"`

	Completed  int `json:"completed"`
	Incomplete int `json:"incomplete"`
	Partial    int `json:"partial"`
}

// Finished is the number of prompts whose outcome stands.
func (c Counts) Finished() int { return c.Kept + c.Filtered + c.Discarded }

// add counts n prompts of one verdict and end.
func (c *Counts) add(v Verdict, end string, n int) {
	c.Total += n
	switch v {
	case Kept:
		c.Kept += n
	case Filtered:
		c.Filtered += n
	case Discarded:
		c.Discarded += n
	case Failed:
		c.Failed += n
	case Pending:
		c.Pending += n
	}
	switch end {
	case db.EndCompleted:
		c.Completed += n
	case db.EndIncomplete:
		c.Incomplete += n
	case db.EndPartial:
		c.Partial += n
	}
}

// Progress counts the prompts of a store by verdict, from the heads of its
// outcomes only: some tenths of a second for a million. It may be called while
// a run writes the store.
func Progress(store *db.Store, f Filters) (Counts, error) {
	plan, err := readPlan(store)
	if err != nil {
		return Counts{}, err
	}
	var c Counts
	pending := plan.count
	err = store.OutcomeHeads(0, func(h db.OutcomeHead) bool {
		v := Judge(h, f)
		if plan.counts(h.Ordinal, v) {
			c.add(v, h.End, 1)
		}
		if plan.answers(h.Ordinal) {
			pending--
		}
		return true
	})
	c.add(Pending, "", pending)
	return c, err
}
