package db

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// errNoAttempt is a mistake of the caller: a session begins with an *Attempt.
var errNoAttempt = errors.New("no attempt was begun")

// Log appends to one session. It belongs to one goroutine, and a session has
// one Log at a time: of two, the second to commit a step is refused.
type Log struct {
	s       *Store
	o       Ordinal
	origin  Hash // what the first attempt chains from
	attempt int  // -1 before the first
	step    int  // last appended, -1 before the first
	head    Hash // of the last appended step
	last    *Commit
	err     error // of an append that was refused before it was queued

	refused error // belongs to the committer
}

// Log returns the session's log, positioned at the end of its last attempt.
func (s *Store) Log(o Ordinal) (*Log, error) {
	if s.writes == nil {
		return nil, ErrReadOnly
	}
	l := &Log{s: s, o: o, attempt: -1, step: -1}
	err := s.view(func(tx reader) (err error) {
		if l.origin, err = headOf(tx, o); err != nil {
			return err
		}
		l.head = l.origin
		attempt, number, value, ok := lastStep(tx, o)
		if !ok {
			return nil
		}
		h, _, err := parseHeader(value)
		if err != nil {
			return stepError(o, attempt, number, err)
		}
		l.attempt, l.step, l.head = attempt, number, h.hash
		return nil
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Last returns the place of the last appended step, -1 and -1 if there is none.
func (l *Log) Last() (attempt, step int) { return l.attempt, l.step }

var scratches = sync.Pool{New: func() any { return new([]byte) }}

// Append encodes records in the caller's goroutine and queues them as one
// write. It waits only while the queue is full. An *Attempt begins the next
// attempt. Commits of one Log become durable in order; once one is refused, all
// later ones are.
func (l *Log) Append(recs ...Record) *Commit {
	if l.err != nil {
		return failedCommit(l.err)
	}
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)
	var puts []put
	for _, r := range recs {
		more, err := l.encode(r, scratch)
		if err != nil {
			l.err = fmt.Errorf("append %s to %s: %w", r.kind(), l.o, err)
			return failedCommit(l.err)
		}
		puts = append(puts, more...)
	}
	return l.submit(puts)
}

func (l *Log) encode(r Record, scratch *[]byte) ([]put, error) {
	if a, ok := r.(*Attempt); ok {
		if err := l.begin(a); err != nil {
			return nil, err
		}
	} else if l.attempt < 0 {
		return nil, errNoAttempt
	}
	if l.step >= maxStep {
		return nil, ErrTooLarge
	}
	puts, h, rest, err := encodeStep(l.o, l.attempt, l.step+1, l.head, r, *scratch)
	if cap(rest) <= maxInline {
		*scratch = rest
	}
	if err != nil {
		return nil, err
	}
	l.step++
	l.head = h
	return puts, nil
}

// begin moves to a new attempt and to the step that it forks from.
func (l *Log) begin(a *Attempt) error {
	if fork := a.Parent >= 0; fork != (a.ForkStep >= 0) || a.Parent > l.attempt {
		return fmt.Errorf("attempt %d: no step %d of attempt %d to fork from", l.attempt+1, a.ForkStep, a.Parent)
	}
	if l.attempt >= maxAttempt {
		return ErrTooLarge
	}
	head := l.origin
	if a.Parent >= 0 {
		var err error
		if head, err = l.hashOf(a.Parent, a.ForkStep); err != nil {
			return err
		}
	}
	l.attempt, l.step, l.head = l.attempt+1, -1, head
	return nil
}

// hashOf returns the hash of an earlier step of the session, which it waits
// for if need be.
func (l *Log) hashOf(attempt, step int) (h Hash, err error) {
	if attempt == l.attempt && step == l.step {
		return l.head, nil
	}
	if l.last != nil {
		if err := l.last.Wait(context.Background()); err != nil {
			return h, err
		}
	}
	err = l.s.view(func(tx reader) error {
		value := bucketTurns.get(tx, keyOfStep(l.o, attempt, step))
		if value == nil {
			return stepError(l.o, attempt, step, ErrNotFound)
		}
		head, _, err := parseHeader(value)
		h = head.hash
		return err
	})
	return h, err
}

// Finish queues the session's outcome, which supersedes an older one. It fills
// Attempt, Steps and Head.
func (l *Log) Finish(o *Outcome) *Commit {
	if l.err != nil {
		return failedCommit(l.err)
	}
	o.Attempt, o.Steps, o.Head = l.attempt, l.step+1, l.head
	puts, err := encodeOutcome(l.o, o)
	if err != nil {
		return failedCommit(fmt.Errorf("outcome of %s: %w", l.o, err))
	}
	return l.submit(puts)
}

func (l *Log) submit(puts []put) *Commit {
	l.last = l.s.writes.submit(&request{puts: puts, log: l})
	return l.last
}
