package db

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// newStore makes a store that is checked when the test ends.
func newStore(tb testing.TB) *Store {
	tb.Helper()
	s, err := Create(filepath.Join(tb.TempDir(), "run.db"), Run{Name: "test"}, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { closeSound(tb, s) })
	return s
}

// closeSound closes a store that must be sound.
func closeSound(tb testing.TB, s *Store) {
	tb.Helper()
	r, err := s.Check(context.Background(), true)
	if err != nil {
		tb.Errorf("check: %v", err)
	}
	if r.Found > 0 {
		tb.Errorf("check found %d problems:\n%s", r.Found, strings.Join(r.Problems, "\n"))
	}
	if err := s.Close(); err != nil {
		tb.Errorf("close: %v", err)
	}
}

// register adds n prompts and seals them in batches of 10.
func register(tb testing.TB, s *Store, n int) {
	tb.Helper()
	first, err := s.NextIndex()
	if err != nil {
		tb.Fatal(err)
	}
	var prompts []Prompt
	rows := make([]uint32, first+n)
	for i := range rows {
		rows[i] = uint32(i)
		if i >= first {
			prompts = append(prompts, prompt(i, fmt.Sprintf("What is %d plus one?", i)))
		}
	}
	if err := s.PutPrompts(prompts); err != nil {
		tb.Fatal(err)
	}
	if err := s.PutPlan(Plan{Path: "p.jsonl"}, rows, nil, 10); err != nil {
		tb.Fatal(err)
	}
}

func prompt(index int, text string) Prompt {
	return Prompt{Index: index, Text: text, Hash: PromptHash(text, "", ""), Extra: []byte("{}")}
}
