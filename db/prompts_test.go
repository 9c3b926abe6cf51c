package db

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPromptsComeBack(t *testing.T) {
	s := newStore(t)
	long := string(incompressible(maxInline)) + odd
	want := []Prompt{
		{Text: "a", Extra: []byte("{}")},
		{Text: odd, Image: "python:3.12", Cwd: "/srv/" + odd, Extra: []byte(`{"id": 1.0,  "x": "\ud83d"}`)},
		{Text: long, Extra: []byte("{}")},
		{Text: strings.Repeat("again ", 100000), Extra: []byte(`{"long": "` + strings.Repeat("x", 400000) + `"}`)},
	}
	rows := make([]uint32, len(want))
	for i := range want {
		p := &want[i]
		p.Index, p.Batch, p.Hash, rows[i] = i, i/3, PromptHash(p.Text, p.Image, p.Cwd), uint32(i)
	}
	if err := s.PutPrompts(want); err != nil {
		t.Fatal(err)
	}
	if p, err := s.Prompt(0); err != nil || p.Batch != -1 {
		t.Errorf("before the plan, prompt 0 is in batch %d, %v", p.Batch, err)
	}
	if err := s.PutPlan(Plan{}, rows, nil, 3); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, s, Options{})
	for i := range want {
		got, err := s.Prompt(i)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want[i], got); d != "" {
			t.Errorf("prompt %d: %.500s", i, d)
		}
	}
	for _, index := range []int{-1, 4, 1 << 40} {
		if _, err := s.Prompt(index); !errors.Is(err, ErrNotFound) {
			t.Errorf("prompt %d: %v", index, err)
		}
	}
}

func TestCopiesOfOneContent(t *testing.T) {
	s := newStore(t)
	same := func(index int, n uint32, extra string) Prompt {
		p := prompt(index, "same")
		p.Copy, p.Extra = n, []byte(extra)
		return p
	}
	err := s.PutPrompts([]Prompt{same(0, 0, "{}"), prompt(1, "other"), same(2, 2, "{}"), same(3, 1, `{"a":1}`)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.PutPlan(Plan{}, []uint32{3, 2, 1, 0}, nil, 2); err != nil {
		t.Fatal(err)
	}
	l := openLog(t, s, MakeOrdinal(0, 0))
	l.Append(start(), gpt("x"))
	mustWait(t, l.Finish(&Outcome{End: "failed", Reason: "server", Class: "transient"}))
	l = openLog(t, s, MakeOrdinal(3, 0))
	l.Append(start())
	mustWait(t, l.Finish(&Outcome{End: "incomplete", Reason: "max_turns"}))
	mustWait(t, openLog(t, s, MakeOrdinal(2, 1)).Append(start())) // another rollout does not count

	// A known prompt takes the other keys of its new row.
	if err := s.PutPrompts([]Prompt{same(2, 2, `{"new":true}`), prompt(4, "fresh")}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Copies(PromptHash("same", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	want := []Copy{
		{Index: 0, Copy: 0, Extra: sha256.Sum256([]byte("{}")), Steps: 2},
		{Index: 3, Copy: 1, Extra: sha256.Sum256([]byte(`{"a":1}`)), Finished: true, Steps: 1},
		{Index: 2, Copy: 2, Extra: sha256.Sum256([]byte(`{"new":true}`))},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if p, err := s.Prompt(2); err != nil || string(p.Extra) != `{"new":true}` || p.Text != "same" {
		t.Errorf("%+v, %v", p, err)
	}
	if got, err := s.Copies(PromptHash("unknown", "", "")); err != nil || len(got) != 0 {
		t.Errorf("copies of an unknown content: %+v, %v", got, err)
	}
}

func TestRegistrationRefusesContradictions(t *testing.T) {
	s := newStore(t)
	register(t, s, 2)
	taken := prompt(2, "What is 0 plus one?")
	for what, ps := range map[string][]Prompt{
		"gap":            {prompt(3, "x")},
		"second in gap":  {prompt(2, "x"), prompt(4, "y")},
		"taken identity": {taken},
		"twice":          {prompt(2, "x"), prompt(3, "x")},
		"other content":  {prompt(0, "x")},
		"other copy":     {{Index: 0, Copy: 1, Hash: PromptHash("What is 0 plus one?", "", "")}},
		"negative":       {prompt(-1, "x")},
	} {
		if err := s.PutPrompts(ps); err == nil {
			t.Errorf("%s was accepted", what)
		}
	}
	if n, err := s.NextIndex(); n != 2 || err != nil {
		t.Errorf("%d prompts, %v", n, err)
	}
	if err := s.PutPlan(Plan{}, []uint32{0, 2}, nil, 1); !errors.Is(err, ErrNotFound) {
		t.Errorf("plan with an unknown prompt: %v", err)
	}
	if err := s.PutPlan(Plan{}, []uint32{0}, nil, 0); err == nil {
		t.Error("a batch of nothing was accepted")
	}
}

func TestBatchesAreFixed(t *testing.T) {
	s := newStore(t)
	seal := func(n, size int) {
		t.Helper()
		first, err := s.NextIndex()
		if err != nil {
			t.Fatal(err)
		}
		for i := first; i < first+n; i++ {
			if err := s.PutPrompts([]Prompt{prompt(i, fmt.Sprint(i))}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.PutPlan(Plan{}, nil, nil, size); err != nil {
			t.Fatal(err)
		}
	}
	seal(0, 5)
	seal(5, 2)  // 0 0 1 1 2
	seal(0, 7)  // nothing new
	seal(4, 3)  // 3 3 3 4
	seal(2, 10) // 5 5
	want := []int{0, 0, 1, 1, 2, 3, 3, 3, 4, 5, 5, -1}
	for range 2 {
		var got []int
		for i := range want {
			got = append(got, s.BatchOf(i))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		regs, err := s.Registrations()
		if d := cmp.Diff([]Registration{{0, 0, 2}, {5, 3, 3}, {9, 5, 10}}, regs); d != "" || err != nil {
			t.Error(d, err)
		}
		if s.BatchOf(-1) != -1 {
			t.Error("a negative index has a batch")
		}
		s = reopen(t, s, Options{})
	}
}

// TestCrashWhileRegistering leaves prompts that no plan sealed.
func TestCrashWhileRegistering(t *testing.T) {
	s := newStore(t)
	register(t, s, 3)
	const n = 2*dropPerWrite + 7
	var more []Prompt
	for i := range n {
		more = append(more, prompt(3+i, fmt.Sprint("more ", i)))
	}
	if err := s.PutPrompts(more); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, s, Options{})
	if got, err := s.NextIndex(); got != 3+n || err != nil {
		t.Fatalf("%d prompts, %v", got, err)
	}
	for range 2 {
		if err := s.DropUnsealed(); err != nil {
			t.Fatal(err)
		}
		if got, err := s.NextIndex(); got != 3 || err != nil {
			t.Fatalf("%d prompts after the drop, %v", got, err)
		}
	}
	if got, err := s.Copies(more[0].Hash); len(got) != 0 || err != nil {
		t.Errorf("a dropped prompt is known: %+v, %v", got, err)
	}
	register(t, s, 2)
	if r := mustBeSound(t, s); r.Prompts != 5 {
		t.Errorf("%d prompts", r.Prompts)
	}
}

func TestPlanPages(t *testing.T) {
	s := newStore(t)
	if _, ok, err := s.Plan(); ok || err != nil {
		t.Errorf("a plan before the first: %v, %v", ok, err)
	}
	if n, err := s.PlanRows(0, make([]uint32, 4)); n != 0 || err != nil {
		t.Errorf("rows before the first plan: %d, %v", n, err)
	}
	planned := func(want int) {
		t.Helper()
		if set, err := s.Planned(); err != nil || set.Len() != want || !set.Has(1) && want > 0 {
			t.Errorf("%d prompts are planned, want %d: %v", set.Len(), want, err)
		}
	}
	planned(0)
	const n = 2*rowsPerPage + 500
	register(t, s, n)
	rows := make([]uint32, n)
	for i := range rows {
		rows[i] = uint32(n - 1 - i)
	}
	var bad []BadLine
	for i := range 2*badPerPage + 3 {
		bad = append(bad, BadLine{Line: i + 1, Reason: "no prompt <" + odd + ">", Hint: "add one"})
	}
	plan := Plan{Dataset: Hash{7}, Path: "/data/é.jsonl", Limit: 9}
	if err := s.PutPlan(plan, rows, bad, 10); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, s, Options{})
	plan.Rows, plan.Bad = n, len(bad)
	if got, ok, err := s.Plan(); !ok || err != nil || got != plan {
		t.Errorf("plan %+v, %v, %v", got, ok, err)
	}
	planned(n)
	for _, size := range []int{1, 7, rowsPerPage, rowsPerPage + 1, n, n + 1} {
		var got []uint32
		page := make([]uint32, size)
		for {
			k, err := s.PlanRows(len(got), page)
			if err != nil {
				t.Fatal(err)
			}
			if k == 0 {
				break
			}
			got = append(got, page[:k]...)
		}
		if d := cmp.Diff(rows, got); d != "" {
			t.Errorf("in pages of %d: %.300s", size, d)
		}
	}
	var got []BadLine
	err := s.BadLines(func(b BadLine) error {
		got = append(got, b)
		return nil
	})
	if d := cmp.Diff(bad, got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	if err := s.BadLines(func(BadLine) error { return context.Canceled }); !errors.Is(err, context.Canceled) {
		t.Errorf("the error of the function is lost: %v", err)
	}

	if err := s.PutPlan(Plan{Path: "short"}, []uint32{1}, nil, 10); err != nil { // nothing of the old one stays
		t.Fatal(err)
	}
	page := make([]uint32, n)
	if k, err := s.PlanRows(0, page); k != 1 || page[0] != 1 || err != nil {
		t.Errorf("%d rows, %v", k, err)
	}
	planned(1)
	if err := s.BadLines(func(b BadLine) error { return fmt.Errorf("%+v", b) }); err != nil {
		t.Errorf("an old bad line: %v", err)
	}
}
