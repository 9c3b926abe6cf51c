package export

import "hermes-batch/db"

// bitset is a set of prompt indices: one bit for each registered prompt.
type bitset []uint64

func newBitset(size int) bitset { return make(bitset, (size+63)/64) }

func (b bitset) has(i int) bool { return i>>6 < len(b) && b[i>>6]>>(i&63)&1 == 1 }

func (b bitset) set(i int) { b[i>>6] |= 1 << (i & 63) }

func (b bitset) clear(i int) { b[i>>6] &^= 1 << (i & 63) }

// planned are the prompts of the present plan.
type planned struct {
	bitset
	count int
}

func readPlan(store *db.Store) (planned, error) {
	registered, err := store.NextIndex()
	if err != nil {
		return planned{}, err
	}
	p := planned{bitset: newBitset(registered)}
	page := make([]uint32, 4096)
	for from := 0; ; {
		n, err := store.PlanRows(from, page)
		if err != nil || n == 0 {
			return p, err
		}
		from += n
		for _, index := range page[:n] {
			if int(index) < registered && !p.has(int(index)) {
				p.set(int(index))
				p.count++
			}
		}
	}
}

// counts tells whether an outcome takes part in the totals: those of the plan,
// and what is finished outside of it.
func (p planned) counts(o db.Ordinal, v Verdict) bool { return v.Finished() || p.has(o.Index()) }

// answers tells whether an outcome at this place takes a row of the plan off
// the pending ones.
func (p planned) answers(o db.Ordinal) bool { return o.Rollout() == 0 && p.has(o.Index()) }
