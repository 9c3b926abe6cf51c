package db

// SpentOn returns what a record says was paid for: the usage of a reply, and
// with an attempt that of the steps which it does not keep.
func SpentOn(r Record) Usage {
	switch r := r.(type) {
	case *Attempt:
		return r.Spent
	case *Turn:
		return r.Usage
	case *Rejected:
		return r.Usage
	}
	return Usage{}
}

// Spent returns what the replies to a session have cost so far, those of
// attempts that were given up included: what its outcome would say now.
func (s *Store) Spent(o Ordinal) (Usage, error) {
	thread, err := s.Thread(o)
	if err != nil {
		return Usage{}, err
	}
	var sum Usage
	for _, st := range thread {
		r, err := st.Decode()
		if err != nil {
			return Usage{}, err
		}
		sum = sum.Add(SpentOn(r))
	}
	return sum, nil
}

// NextSession returns the first session from a place on that has a step, and
// false if there is none.
func (s *Store) NextSession(from Ordinal) (o Ordinal, ok bool, err error) {
	err = s.view(func(tx reader) error {
		k, _ := bucketTurns.of(tx).Cursor().Seek(keyOfOrdinal(from))
		if k == nil {
			return nil
		}
		if o, _, _, ok = parseStepKey(k); !ok {
			return damaged("step key %x", k)
		}
		return nil
	})
	return o, ok, err
}

// WentOn tells whether a session has steps that are later than an outcome of
// it: it is being tried again, or was when the program ended. None has steps
// before the zero Outcome.
func (s *Store) WentOn(o Ordinal, out Outcome) (yes bool, err error) {
	err = s.view(func(tx reader) error {
		attempt, step, _, ok := lastStep(tx, o)
		yes = ok && (attempt > out.Attempt || attempt == out.Attempt && step >= out.Steps)
		return nil
	})
	return yes, err
}
