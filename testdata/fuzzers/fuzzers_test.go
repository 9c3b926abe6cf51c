package main

import (
	"fmt"
	"regexp"
	"testing"
)

func TestTargetsOf(t *testing.T) {
	const listed = "FuzzA\nFuzzB\nok  \thermes-batch/db\t0.005s\nok  \thermes-batch/tools\t0.1s\n?   \thermes-batch/x\t[no test files]\nFuzzC\nok  \thermes-batch\t(cached)\n"
	for pattern, want := range map[string]string{
		"":        "[hermes-batch/db.FuzzA hermes-batch/db.FuzzB hermes-batch.FuzzC]",
		`db\.|C$`: "[hermes-batch/db.FuzzA hermes-batch/db.FuzzB hermes-batch.FuzzC]",
		"FuzzB":   "[hermes-batch/db.FuzzB]",
	} {
		if got := fmt.Sprint(targetsOf(listed, regexp.MustCompile(pattern))); got != want {
			t.Errorf("%q: %s, want %s", pattern, got, want)
		}
	}
}

func TestEndOfTheTimeIsNoFinding(t *testing.T) {
	const late = "fuzz: elapsed: 2m30s, execs: 3023 (0/sec), new interesting: 41 (total: 73)\n--- FAIL: FuzzX (151.18s)\n    context deadline exceeded\nFAIL\n"
	if !onlyLate(late) || executions(late) != "3023 inputs, 41 of interest" {
		t.Errorf("%t %s", onlyLate(late), executions(late))
	}
	if onlyLate(late+"    Failing input written to testdata/fuzz/FuzzX/1\n") || onlyLate("--- FAIL: FuzzX (0.01s)\n    x_test.go:1: wrong\n") {
		t.Error("a finding is taken for the end of the time")
	}
}
