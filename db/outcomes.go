package db

import (
	"encoding/binary"
	"fmt"
)

const (
	// headsPerView and outcomesPerView bound the read transactions of scans.
	headsPerView    = 4096
	outcomesPerView = 256
)

// Outcome returns a session's outcome, and whether it has one.
func (s *Store) Outcome(o Ordinal) (out Outcome, ok bool, err error) {
	key := keyOfOutcome(outcomeWhole, o)
	err = s.view(func(tx reader) error {
		value := bucketOutcomes.get(tx, key)
		if value == nil {
			return nil
		}
		ok = true
		out, err = parseOutcome(tx, key, value)
		return err
	})
	if err != nil {
		return Outcome{}, false, fmt.Errorf("outcome of %s: %w", o, err)
	}
	return out, ok, nil
}

// OutcomeHeads calls fn with the heads of all outcomes from a place on, in
// order, until it returns false. It reads them in many short transactions and
// calls fn outside of them, so that a scan during a run may see new ones.
func (s *Store) OutcomeHeads(from Ordinal, fn func(OutcomeHead) (more bool)) error {
	known := reasons{}
	return scanOutcomes(s, outcomeHead, from, headsPerView,
		func(_ reader, k, v []byte) (OutcomeHead, error) { return parseOutcomeHead(k, v, known) },
		func(_ Ordinal, h OutcomeHead) (bool, error) { return fn(h), nil })
}

// Outcomes calls fn with all outcomes from a place on, in order, until it
// returns an error, which is returned. Transactions are as in OutcomeHeads.
func (s *Store) Outcomes(from Ordinal, fn func(Ordinal, Outcome) error) error {
	return scanOutcomes(s, outcomeWhole, from, outcomesPerView,
		func(tx reader, k, v []byte) (Outcome, error) {
			o, err := parseOutcome(tx, k, v)
			if err != nil {
				err = fmt.Errorf("outcome %x: %w", k, err)
			}
			return o, err
		},
		func(ord Ordinal, o Outcome) (bool, error) {
			err := fn(ord, o)
			return err == nil, err
		})
}

func scanOutcomes[T any](s *Store, part byte, from Ordinal, page int,
	parse func(tx reader, k, v []byte) (T, error), fn func(Ordinal, T) (more bool, err error)) error {
	places, found := make([]Ordinal, 0, page), make([]T, 0, page)
	next := keyOfOutcome(part, from)
	for next != nil {
		places, found = places[:0], found[:0]
		err := s.view(func(tx reader) error {
			prompts := registered(tx)
			c := bucketOutcomes.of(tx).Cursor()
			k, v := c.Seek(next)
			for ; len(k) == outcomeKey && k[0] == part && len(found) < page; k, v = c.Next() {
				t, err := parse(tx, k, v)
				if err != nil {
					return err
				}
				o := Ordinal(binary.BigEndian.Uint64(k[1:]))
				if o.Index() >= prompts {
					return damaged("outcome of %s: its prompt is not registered", o)
				}
				places, found = append(places, o), append(found, t)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for i, t := range found {
			if more, err := fn(places[i], t); err != nil || !more {
				return err
			}
		}
		next = nil
		if len(found) == page {
			next = keyOfOutcome(part, places[page-1]+1)
		}
	}
	return nil
}
