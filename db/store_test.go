package db

import (
	"context"
	"path/filepath"
	"testing"
)

func TestSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.db")
	s, err := Create(path, Run{Name: "x"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := Prompt{Text: "hello", Hash: PromptHash("hello", "", ""), Extra: []byte("{}")}
	if err := s.PutPrompts([]Prompt{p}); err != nil {
		t.Fatal(err)
	}
	if err := s.PutPlan(Plan{}, []uint32{0}, nil, 10); err != nil {
		t.Fatal(err)
	}
	l, err := s.Log(0)
	if err != nil {
		t.Fatal(err)
	}
	l.Append(&Attempt{Parent: -1, ForkStep: -1}, &Turn{Entry: Entry{From: "gpt", Value: "<hi>"}})
	if err := l.Finish(&Outcome{End: "completed"}).Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(path, Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	th, err := s.Thread(0)
	if err != nil || len(th) != 2 {
		t.Fatal(th, err)
	}
	if b, ok := th[1].EntryJSON(); !ok || string(b) != `{"from":"gpt","value":"<hi>"}` {
		t.Fatal(string(b))
	}
	if o, ok, err := s.Outcome(0); err != nil || !ok || o.Head != th[1].Hash {
		t.Fatal(o, ok, err)
	}
}
