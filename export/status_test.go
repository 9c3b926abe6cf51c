package export

import (
	"fmt"
	"strings"
	"testing"

	"hermes-batch/db"
)

func TestStatus(t *testing.T) {
	f := everything(t)
	for _, test := range []struct {
		end  string // of the last session
		live []string
		want string
	}{
		{"", []string{"3 prompts in flight"}, "state     running\n"},
		{"", nil, "state     crashed"},
		{"interrupted", nil, "state     interrupted; --resume goes on with the 1 pending prompt\n"},
		{"stopped: the disk is full", nil, "state     the disk is full; --resume"},
	} {
		if test.end != "" {
			f.begin()
			f.must(f.store.EndLaunch(f.launch, test.end))
		}
		var out strings.Builder
		f.must(Status(&out, f.store, Filters{}, test.live))
		for _, want := range []string{test.want, "9 = 5 kept + 1 filtered + 1 discarded + 1 failed + 1 pending", "5 completed, 1 incomplete, 1 partial", "failed    1, listed in errors.jsonl; --resume tries them again\n"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q: no %q in\n%s", test.end, want, &out)
			}
		}
		for _, line := range test.live {
			if !strings.Contains(out.String(), line) {
				t.Errorf("no %q in\n%s", line, &out)
			}
		}
	}
	f.answer(4, completed())
	f.answer(7, completed())
	var out strings.Builder
	f.must(Status(&out, f.store, Filters{}, nil))
	if !strings.Contains(out.String(), "state     complete\n") {
		t.Errorf("complete run:\n%s", &out)
	}
}

func TestStatusKnowsTheFiltersOfTheRun(t *testing.T) {
	for _, flags := range []map[string]string{
		{"keep_without_reasoning": "true", "keep_invalid_tools": "true"},
		{"output": "results.jsonl", "keep_without_reasoning": "false"},
	} {
		f := everything(t)
		_, err := f.store.BeginLaunch(db.Launch{Flags: flags})
		f.must(err)
		var out strings.Builder
		f.must(Status(&out, f.store, Filters{}, nil))
		if want := "9 = 7 kept + 0 filtered + 0 discarded + 1 failed + 1 pending"; !strings.Contains(out.String(), want) {
			t.Errorf("%v: no %q in\n%s", flags, want, &out)
		}
	}
}

func TestSummaryIsPlainAndShort(t *testing.T) {
	stats := &Statistics{Tools: map[string]ToolRates{}, InvalidTools: map[string]int{}}
	for i := range 30 {
		stats.Tools[fmt.Sprintf("mcp_%02d", i)] = ToolRates{Count: 100 - i, Success: 100 - i}
		stats.InvalidTools[fmt.Sprintf("\x1b[31mred\x07%02d%s", i, strings.Repeat("long", 50))] = 1
	}
	rep := &Report{Statistics: stats, Counts: Counts{Total: 20, Kept: 2, Discarded: 18, Completed: 20}, Batches: 40, LongRows: 1}
	for i := range 40 {
		rep.Files = append(rep.Files, File{Path: "data/r/" + batchName(i), State: Written, Rows: 10, Bytes: 1000})
	}
	rep.Files = append(rep.Files, File{Path: "data/r/batch_99.jsonl", State: Removed})
	var out writes
	if err := Summary(&out, rep); err != nil {
		t.Fatal(err)
	}
	if out.n != 1 {
		t.Errorf("%d writes", out.n)
	}
	text := out.String()
	if strings.ContainsAny(text, "\x1b\x07") || strings.Count(text, "\n") > 50 {
		t.Errorf("summary:\n%s", text)
	}
	for _, want := range []string{"40 batch files", "2 rows", "batch_99.jsonl", "removed", "1 row is longer", "18 of 20 finished prompts were discarded",
		"--keep_without_reasoning", "and 22 more"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// writes counts them.
type writes struct {
	strings.Builder
	n int
}

func (w *writes) Write(p []byte) (int, error) {
	w.n++
	return w.Builder.Write(p)
}
