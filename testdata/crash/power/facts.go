package power

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"hermes-batch/db"
)

// patience is how long the opening and checking of a store may take; what takes
// longer hangs.
const patience = 30 * time.Second

// facts are what a store holds.
type facts struct {
	prompts, planned, outcomes int
	sessions                   []*session // by index
	byText                     map[string]*session
}

// session is what a store holds of a prompt.
type session struct {
	turns   []turn
	outcome bool
}

// turn is a turn of the model and what became of its calls.
type turn struct {
	attempt, step int
	text          string // as parseRequest gives it
	calls         []string
	results       int
}

// readStore opens a store and checks everything in it. Whatever goes wrong is
// an error: a panic or a hang as well.
func readStore(path string, opts db.Options) (*facts, error) {
	type answer struct {
		facts *facts
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
			done <- a
		}()
		a.facts, a.err = openAndRead(path, opts)
	}()
	select {
	case a := <-done:
		return a.facts, a.err
	case <-time.After(patience):
		return nil, fmt.Errorf("still not open and checked after %v", patience)
	}
}

func openAndRead(path string, opts db.Options) (*facts, error) {
	s, err := db.Open(path, opts)
	if err != nil {
		return nil, err
	}
	f, err := read(s)
	return f, errors.Join(err, s.Close())
}

func read(s *db.Store) (*facts, error) {
	report, err := s.Check(context.Background(), true)
	if err != nil {
		return nil, err
	}
	if report.Found > 0 {
		return nil, fmt.Errorf("check: %d problems: %v", report.Found, report.Problems)
	}
	plan, _, err := s.Plan()
	if err != nil {
		return nil, err
	}
	f := &facts{prompts: report.Prompts, planned: plan.Rows, outcomes: report.Outcomes, byText: map[string]*session{}}
	if report.Sessions == 0 && report.Outcomes == 0 {
		f.sessions = make([]*session, report.Prompts)
		return f, nil
	}
	for i := range report.Prompts {
		p, err := s.Prompt(i)
		if err != nil {
			return nil, err
		}
		one, err := readSession(s, db.MakeOrdinal(i, 0))
		if err != nil {
			return nil, err
		}
		f.sessions, f.byText[p.Text] = append(f.sessions, one), one
	}
	return f, nil
}

func readSession(s *db.Store, o db.Ordinal) (*session, error) {
	one := &session{}
	var err error
	if _, one.outcome, err = s.Outcome(o); err != nil {
		return nil, err
	}
	thread, err := s.Thread(o)
	if err != nil {
		return nil, err
	}
	at := map[int]int{} // turns by their positions in the thread
	for _, st := range thread {
		rec, err := st.Decode()
		if err != nil {
			return nil, err
		}
		switch rec := rec.(type) {
		case *db.Turn:
			t := turn{attempt: st.Attempt, step: st.Number, text: rec.Entry.Value}
			for _, c := range rec.Entry.ToolCalls {
				t.text += fmt.Sprintf("\n%s %s %s", c.ID, c.Name, c.Arguments)
				t.calls = append(t.calls, c.Name)
			}
			at[st.Position] = len(one.turns)
			one.turns = append(one.turns, t)
		case *db.Result:
			one.turns[at[rec.Turn]].results++
		}
	}
	return one, nil
}

var errNotThere = errors.New("the store does not hold the prompt")

func (f *facts) session(index int) *session {
	if index >= len(f.sessions) || f.sessions[index] == nil {
		return &session{}
	}
	return f.sessions[index]
}

// isPlanned demands that all rows are registered and planned.
func isPlanned(rows int) func(*facts) error {
	return func(f *facts) error {
		if f.prompts < rows || f.planned < rows {
			return fmt.Errorf("%d prompts, %d of them planned, of %d", f.prompts, f.planned, rows)
		}
		return nil
	}
}

// hasTurns demands turns of the model.
func hasTurns(text string, turns []string) func(*facts) error {
	return func(f *facts) error {
		s := f.byText[text]
		switch {
		case s == nil:
			return errNotThere
		case len(s.turns) < len(turns):
			return fmt.Errorf("%d turns are there", len(s.turns))
		}
		for i, want := range turns {
			if got := s.turns[i].text; got != want {
				return fmt.Errorf("turn %d is %q and not %q", i+1, got, want)
			}
		}
		return nil
	}
}

// hasCall demands the turn that asked for a call, and the results of all calls
// before that one. One that only reads may begin before those of its own turn
// are durable.
func hasCall(index, attempt, step, n int) func(*facts) error {
	return func(f *facts) error {
		for _, t := range f.session(index).turns {
			due := len(t.calls)
			asked := t.attempt == attempt && t.step == step && n < len(t.calls)
			if asked {
				if due = n; t.calls[n] == "read_file" || t.calls[n] == "search_files" {
					due = 0
				}
			}
			if t.results < due {
				return fmt.Errorf("%d results of %d calls before it are there", t.results, due)
			}
			if asked {
				return nil
			}
		}
		return errors.New("the turn that asked for it is not there")
	}
}

// hasOutcome demands the outcome of a prompt.
func hasOutcome(index int) func(*facts) error {
	return func(f *facts) error {
		if !f.session(index).outcome {
			return errors.New("the outcome is not there")
		}
		return nil
	}
}

// hasOutcomes demands a number of outcomes.
func hasOutcomes(n int) func(*facts) error {
	return func(f *facts) error {
		if f.outcomes < n {
			return fmt.Errorf("%d outcomes are there", f.outcomes)
		}
		return nil
	}
}
