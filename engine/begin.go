package engine

import (
	"encoding/binary"

	"hermes-batch/db"
	"hermes-batch/engine/model"
	"hermes-batch/tools/sandbox"
)

// Reasons of attempts.
const (
	attemptStart = "start"
	attemptLost  = "sandbox_lost"
	attemptRetry = "retry"
)

// maxLosses of sandboxes fail a prompt.
const maxLosses = 3

// thread is a session's effective steps, decoded.
type thread struct {
	steps []db.Step
	recs  []db.Record
}

func (s *session) read() (t thread, err error) {
	if t.steps, err = s.run.store.Thread(s.ord); err != nil {
		return t, err
	}
	t.recs = make([]db.Record, len(t.steps))
	for i, step := range t.steps {
		if t.recs[i], err = step.Decode(); err != nil {
			return t, err
		}
	}
	return t, nil
}

// load reads the session back or begins it.
func (s *session) load() (err error) {
	if s.log, err = s.run.store.Log(s.ord); err != nil {
		return err
	}
	if attempt, _ := s.log.Last(); attempt < 0 {
		first, err := s.firstAttempt()
		if err != nil {
			return err
		}
		if err := s.reset([]db.Record{first}); err != nil {
			return err
		}
		s.append(first)
		return nil
	}
	t, err := s.read()
	if err != nil {
		return err
	}
	old, _, err := s.run.store.Outcome(s.ord)
	if err != nil {
		return err
	}
	going, err := s.run.store.WentOn(s.ord, old)
	if err != nil {
		return err
	}
	if going {
		return s.replay(t)
	}
	again, err := s.retry(old, t)
	if err != nil {
		return err
	}
	return s.goOn(again)
}

// goOn commits a record that changes how the session goes on, and reads it
// back from there.
func (s *session) goOn(rec db.Record) error {
	s.last = s.log.Append(rec)
	if err := s.durable(); err != nil {
		return err
	}
	t, err := s.read()
	if err != nil {
		return err
	}
	return s.replay(t)
}

func (s *session) replay(t thread) error {
	if err := s.reset(t.recs); err != nil {
		return err
	}
	for i, step := range t.steps {
		s.apply(step.Attempt, step.Number, t.recs[i])
	}
	s.resumed = true
	return nil
}

// reset makes the session empty, under the settings that recs end with.
func (s *session) reset(recs []db.Record) error {
	var definitions db.Hash
	var drawn, toolsets, offered []string
	for _, rec := range recs {
		switch r := rec.(type) {
		case *db.Attempt:
			s.settings, drawn, toolsets, offered, definitions = r.Settings, r.Drawn, r.Toolsets, r.Offered, r.Tools
		case *db.Retry:
			s.settings, drawn, toolsets, offered, definitions = r.Settings, r.Drawn, r.Toolsets, r.Offered, r.Tools
		}
	}
	var err error
	if s.set, err = s.run.settingsOf(s.settings); err != nil {
		return err
	}
	if s.offer, err = s.run.offers.stored(drawn, toolsets, offered, definitions); err != nil {
		return err
	}
	s.conv = model.NewConversation(s.set.params(s.run.endpoint.Kind, s.offer.definitions, s.prompt, s.ord), s.prompt.Text)
	s.facts = newFacts()
	s.turn, s.turns, s.position, s.invalid, s.losses = nil, 0, 0, 0, 0
	s.continued = nil
	s.shell = sandbox.Shell{}
	return nil
}

// identity is what the draw of a session depends on beside the seed.
func identity(p db.Prompt, ord db.Ordinal) []byte {
	h := db.HashParts("draw-identity/1", p.Hash[:],
		binary.BigEndian.AppendUint32(nil, p.Copy), binary.BigEndian.AppendUint32(nil, uint32(ord.Rollout())))
	return h[:]
}

// firstAttempt draws the toolsets of a session that never began.
func (s *session) firstAttempt() (*db.Attempt, error) {
	o, err := s.run.draw(s.prompt, s.ord)
	if err != nil {
		return nil, err
	}
	return &db.Attempt{Parent: -1, ForkStep: -1, Reason: attemptStart, Settings: s.run.fingerprint,
		Drawn: o.drawn, Toolsets: o.toolsets, Offered: o.names, Tools: o.hash, Launch: s.run.launch, At: s.run.now()}, nil
}

// retry says how a session that had an outcome goes on, under the run's
// present settings: after its last step, or, if that was the model's last word,
// in an attempt that goes on before it.
func (s *session) retry(old db.Outcome, t thread) (db.Record, error) {
	o, err := s.run.draw(s.prompt, s.ord)
	if err != nil {
		return nil, err
	}
	if keep := t.reusable(); keep < len(t.steps) {
		a := t.fork(keep, attemptRetry)
		a.Settings, a.Drawn, a.Toolsets, a.Offered, a.Tools = s.run.fingerprint, o.drawn, o.toolsets, o.names, o.hash
		a.Tries = old.Tries - t.facts(a.ForkStep).tries()
		a.Launch, a.At = s.run.launch, s.run.now()
		return a, nil
	}
	return &db.Retry{Settings: s.run.fingerprint, Drawn: o.drawn, Toolsets: o.toolsets, Offered: o.names, Tools: o.hash,
		Tries: old.Tries - t.all().turnTries, Reason: old.Reason, Launch: s.run.launch, At: s.run.now()}, nil
}

// reusable is how many steps of a finished session a retry can go on after: not
// the model's last word with its cut beginnings, and nothing that was made in a
// sandbox which went with the outcome.
func (t thread) reusable() int {
	keep := len(t.steps)
	if last := t.lastTurn(); last >= 0 && len(t.recs[last].(*db.Turn).Entry.ToolCalls) == 0 {
		for keep = last; t.steps[keep-1].Kind == db.KindRejected; {
			keep--
		}
	}
	if at := t.firstBox(); at < keep {
		if there, err := exists(t.recs[at].(*db.Sandbox).Folder); err == nil && !there {
			keep = at
		}
	}
	return keep
}

// fork closes the current attempt, whose sandbox is lost, and opens one that
// keeps what did not depend on it. A third loss fails the prompt.
func (s *session) fork(lost *lostError) error {
	s.run.log.Warn("sandbox lost", "prompt", s.ord.Index(), "attempt", s.attempt, "why", lost.Error())
	shared := sandbox.CheckCwd(s.prompt.Cwd) != nil // the row's own folder is gone
	if s.losses+1 >= maxLosses || shared {
		reason := reasonSandboxLost
		if shared {
			reason = reasonInfrastructure
		}
		return done(s.finish(end{db.EndFailed, reason, db.ClassTransient, s.run.mask.line(lost.Error())}))
	}
	if err := s.durable(); err != nil {
		return err
	}
	t, err := s.read()
	if err != nil {
		return err
	}
	a := t.fork(t.firstBox(), attemptLost)
	a.Settings, a.Drawn, a.Toolsets, a.Offered, a.Tools = s.settings, s.offer.drawn, s.offer.toolsets, s.offer.names, s.offer.hash
	a.Tries = s.facts.tries() - t.facts(a.ForkStep).tries()
	a.Launch, a.At = s.run.launch, s.run.now()
	s.box.discard(s)
	return s.goOn(a)
}

// fork makes the attempt that keeps the first n steps of the thread. They
// include at least the current attempt's own record.
func (t thread) fork(n int, reason string) *db.Attempt {
	dropped := newFacts()
	for _, rec := range t.recs[n:] {
		dropped.add(rec)
	}
	return &db.Attempt{Parent: t.steps[n-1].Attempt, ForkStep: t.steps[n-1].Number, Reason: reason, Spent: dropped.spent}
}

// facts are those of the steps up to the one with that number in the current
// attempt.
func (t thread) facts(number int) *facts {
	f := newFacts()
	current := t.steps[len(t.steps)-1].Attempt
	for i, step := range t.steps {
		if step.Attempt != current || step.Number <= number {
			f.add(t.recs[i])
		}
	}
	return &f
}

func (t thread) all() *facts {
	f := newFacts()
	for _, rec := range t.recs {
		f.add(rec)
	}
	return &f
}

// firstBox is the position of the current attempt's sandbox, the number of
// steps if it has none.
func (t thread) firstBox() int {
	current := t.steps[len(t.steps)-1].Attempt
	for i, step := range t.steps {
		if step.Attempt == current && step.Kind == db.KindSandbox {
			return i
		}
	}
	return len(t.steps)
}

// lastTurn is the position of the last model turn, -1 if there is none.
func (t thread) lastTurn() int {
	for i := len(t.steps) - 1; i >= 0; i-- {
		if t.steps[i].Kind == db.KindTurn {
			return i
		}
	}
	return -1
}
