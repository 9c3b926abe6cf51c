package tools

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Lines that are passed over change neither what is found nor the numbers and neighbours of it.
func TestSearchPassesOver(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	words := []string{"one", "two", "Three", "needle", "NEEDLE", "thread", "", "x=1", "ſ", "\xff"}
	var b strings.Builder
	for b.Len() < 300_000 { // several buffers
		for range random.IntN(6) {
			b.WriteString(words[random.IntN(3)] + " ")
		}
		if random.IntN(200) == 0 {
			b.WriteString(words[random.IntN(len(words))])
		}
		if random.IntN(1000) == 0 {
			b.WriteString(strings.Repeat("long ", 20_000))
		}
		b.WriteString([]string{"\n", "\r\n"}[random.IntN(2)])
	}
	for _, text := range []string{b.String(), b.String() + "needle at the end", "needle", "\n\nneedle\n", ""} {
		for _, pattern := range []string{"needle", "(?i)needle|thread", "^needle$", `x=\d`, `\bThree\b`, "needle|Three|x=1", "absent", "one"} {
			for context := range 4 {
				for _, mode := range []string{showLines, showCounts, showFiles} {
					args := searchArgs{Pattern: pattern, OutputMode: mode, Context: context, Limit: 200}
					want, got := searchText(t, args, text, false), searchText(t, args, text, true)
					if got != want {
						t.Fatalf("%+v in %d bytes:\n got %.2000s\nwant %.2000s", args, len(text), got, want)
					}
				}
			}
		}
	}
}

// searchText searches one text, and passes over lines where it can.
func searchText(t *testing.T, args searchArgs, text string, over bool) string {
	t.Helper()
	s, problem := newSearch(args, usualSearch)
	if problem != "" {
		t.Fatal(problem)
	}
	if !over {
		s.must = nil
	}
	if err := s.contents(context.Background(), found{shown: "file"}, strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", s.total, encode(s.report()))
}
