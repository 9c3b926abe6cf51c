package db

import (
	"fmt"
	"slices"
)

// Thread returns the effective steps of a session's current attempt in order:
// those inherited from earlier attempts up to where it forked, then its own.
// It is empty if the session never began.
func (s *Store) Thread(o Ordinal) ([]Step, error) {
	return s.thread(o, func(tx reader) (span, bool) {
		attempt, last, _, ok := lastStep(tx, o)
		return span{attempt, last}, ok
	})
}

// ThreadAt returns the steps that an outcome of the session was made from:
// what Thread returned when it was committed. The two differ while the session
// is tried again.
func (s *Store) ThreadAt(o Ordinal, out Outcome) ([]Step, error) {
	return s.thread(o, func(reader) (span, bool) {
		return span{out.Attempt, out.Steps - 1}, out.Attempt >= 0 && out.Steps > 0
	})
}

// thread returns the steps up to the one that end names.
func (s *Store) thread(o Ordinal, end func(reader) (span, bool)) ([]Step, error) {
	var thread []Step
	err := s.view(func(tx reader) error {
		last, ok := end(tx)
		if !ok {
			return nil
		}
		spans, err := lineage(tx, o, last.attempt, last.last)
		if err != nil {
			return err
		}
		thread, err = readSpans(tx, o, spans)
		return err
	})
	return thread, err
}

// span is the steps 0 to last of one attempt.
type span struct{ attempt, last int }

// lineage returns the spans that make up a thread which ends with a step of an
// attempt, the oldest first.
func lineage(tx reader, o Ordinal, attempt, last int) ([]span, error) {
	var spans []span
	for {
		spans = append(spans, span{attempt, last})
		if attempt == 0 {
			break
		}
		a, err := readAttempt(tx, o, attempt)
		if err != nil {
			return nil, err
		}
		if a.Parent < 0 {
			break
		}
		if a.Parent >= attempt || a.ForkStep < 0 {
			return nil, stepError(o, attempt, 0, damaged("forks from attempt %d step %d", a.Parent, a.ForkStep))
		}
		attempt, last = a.Parent, a.ForkStep
	}
	slices.Reverse(spans)
	return spans, nil
}

func readAttempt(tx reader, o Ordinal, attempt int) (*Attempt, error) {
	value := bucketTurns.get(tx, keyOfStep(o, attempt, 0))
	if value == nil {
		return nil, stepError(o, attempt, 0, damaged("missing"))
	}
	st, err := openStep(tx, o, attempt, 0, value)
	if err != nil {
		return nil, err
	}
	r, err := st.Decode()
	if err != nil {
		return nil, err
	}
	a, ok := r.(*Attempt)
	if !ok {
		return nil, stepError(o, attempt, 0, damaged("is a %s", st.Kind))
	}
	return a, nil
}

// maxThread bounds the steps of a thread together, in bytes: threads are held
// in memory, and some kilobytes of a hostile store can unfold to a gigabyte.
// Tests lower it.
var maxThread = 4 << 30

// maxPrealloc bounds what is allocated on the word of a key that may be damaged.
const maxPrealloc = 1024

// readSpans reads and verifies the steps of a thread, and that each chains from
// the one before.
func readSpans(tx reader, o Ordinal, spans []span) ([]Step, error) {
	thread := make([]Step, 0, min(length(spans), maxPrealloc))
	parent, err := headOf(tx, o)
	if err != nil {
		return nil, mustExist(err)
	}
	c := bucketTurns.of(tx).Cursor()
	size := 0
	for _, sp := range spans {
		k, v := c.Seek(keyOfStep(o, sp.attempt, 0))
		for n := 0; n <= sp.last; n++ {
			if ko, ka, kn, ok := parseStepKey(k); !ok || ko != o || ka != sp.attempt || kn != n {
				return nil, stepError(o, sp.attempt, n, damaged("missing"))
			}
			st, err := openStep(tx, o, sp.attempt, n, v)
			if err != nil {
				return nil, err
			}
			if st.Parent != parent {
				return nil, stepError(o, sp.attempt, n, damaged("does not follow the step before"))
			}
			if size += len(st.payload); size > maxThread {
				return nil, fmt.Errorf("%s: %w: more than %d MiB in one session", o, ErrTooLarge, maxThread>>20)
			}
			st.Position = len(thread)
			thread = append(thread, st)
			parent = st.Hash
			k, v = c.Next()
		}
	}
	return thread, nil
}

// length is the number of steps in a thread.
func length(spans []span) int {
	n := 0
	for _, sp := range spans {
		n += sp.last + 1
	}
	return n
}

// headOf returns what the session's first step chains from.
func headOf(tx reader, o Ordinal) (Hash, error) {
	value := bucketPrompts.get(tx, keyOfNumber(o.Index()))
	if value == nil {
		return Hash{}, fmt.Errorf("%s: %w", o, ErrNotFound)
	}
	h, err := parsePromptHead(value)
	if err != nil {
		return Hash{}, fmt.Errorf("%s: %w", o, err)
	}
	return sessionHead(h.hash, h.copy, o.Rollout()), nil
}
