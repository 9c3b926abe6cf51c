package model

import (
	"strings"
	"testing"
	"time"
)

// What is left of a text is its end as it was, and what was taken away was not
// made up.
func FuzzSplitThinking(f *testing.F) {
	for _, s := range []string{
		"", "x", "<think>a</think>b", "a</think>b", "<think>a", "<THINKING>a<thinking>b</thinking></Thinking >c", "`</think>` x",
		"<think></think><thought>x</reasoning>y", "<reasoning_scratchpad", "</think></think>", "<<think>>",
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, s string, orphans bool) {
		answer, reasoning := splitThinking(s, orphans)
		if !strings.HasSuffix(s, answer) {
			t.Errorf("%q left %q", s, answer)
		}
		if answer == s {
			if reasoning != "" {
				t.Errorf("%q gave %q and stayed", s, reasoning)
			}
			return
		}
		for part := range strings.SplitSeq(reasoning, "\n\n") {
			if !strings.Contains(s, part) {
				t.Errorf("%q gave %q", s, part)
			}
		}
	})
}

// Texts that are made to be slow are not: at a pass for each tag they would take
// hours.
func TestSplitThinkingIsLinear(t *testing.T) {
	for _, unit := range []string{"<think><think></think>", "<think></think>", "</think", "<", "`</think>`", "<think>"} {
		begin := time.Now()
		splitThinking(strings.Repeat(unit, 100_000), true)
		if d := time.Since(begin); d > 2*time.Minute {
			t.Errorf("%d × %q took %v", 100_000, unit, d)
		}
	}
}
