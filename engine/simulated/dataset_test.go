package simulated

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

type row struct {
	Prompt   any
	Cwd      string
	Expected string
	Verdict  string
}

// demoRows are the good rows of the demo's dataset, and the number of bad ones.
func demoRows(t testing.TB) (rows []row, bad int) {
	t.Helper()
	data, err := os.ReadFile("../../testdata/prompts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var r row
		if err := json.Unmarshal(line, &r); err != nil {
			bad++
			continue
		}
		if _, ok := r.Prompt.(string); !ok {
			bad++
			continue
		}
		rows = append(rows, r)
	}
	return rows, bad
}

func TestDemoPromptsAreAnsweredRight(t *testing.T) {
	rows, bad := demoRows(t)
	if len(rows) < 22 || bad != 2 {
		t.Fatalf("%d good rows and %d bad ones", len(rows), bad)
	}
	for _, r := range rows {
		prompt := r.Prompt.(string)
		t.Run(firstLine(prompt, 40), func(t *testing.T) {
			const limit = 10
			c := converse(t, prompt, allTools...).run(limit)
			t.Logf("turns: %d, calls: %s, answer: %s", len(c.replies), c.calls(), c.answer())
			endless := strings.Contains(prompt, "[max-turns]")
			if got := len(c.replies) == limit; got != endless {
				t.Errorf("took %d turns", len(c.replies))
			}
			if !strings.Contains(c.answer(), r.Expected) {
				t.Errorf("answered %q, want %q in it", c.answer(), r.Expected)
			}
			if r.Cwd != "" && strings.HasPrefix(r.Cwd, "/") {
				t.Errorf("cwd %s is absolute", r.Cwd)
			}
		})
	}
}
