package db

import "context"

// Report is what Check found.
type Report struct {
	Prompts, Sessions, Steps, Outcomes, Blobs int
	Bytes                                     int64
	Problems                                  []string // at most maxProblems
}

// Check checks the store.
func (s *Store) Check(ctx context.Context, deep bool) (Report, error) { return Report{}, nil }
