package export

import (
	"flag"
	"testing"

	"hermes-batch/db"
)

func TestJudge(t *testing.T) {
	silent, invented := db.OutcomeHead{End: db.EndCompleted}, db.OutcomeHead{End: db.EndCompleted, ReasonedTurns: 1, InvalidCalls: 1}
	both := db.OutcomeHead{End: db.EndPartial, InvalidCalls: 3}
	for _, test := range []struct {
		name string
		head db.OutcomeHead
		// verdicts with all filters, without reasoning's, without tools', without any
		want [4]Verdict
	}{
		{"no outcome", db.OutcomeHead{}, [4]Verdict{Pending, Pending, Pending, Pending}},
		{"failed", db.OutcomeHead{End: db.EndFailed, ReasonedTurns: 2}, [4]Verdict{Failed, Failed, Failed, Failed}},
		{"failed and silent", db.OutcomeHead{End: db.EndFailed, InvalidCalls: 1}, [4]Verdict{Failed, Failed, Failed, Failed}},
		{"completed", db.OutcomeHead{End: db.EndCompleted, ReasonedTurns: 1}, [4]Verdict{Kept, Kept, Kept, Kept}},
		{"incomplete", db.OutcomeHead{End: db.EndIncomplete, ReasonedTurns: 1}, [4]Verdict{Kept, Kept, Kept, Kept}},
		{"partial", db.OutcomeHead{End: db.EndPartial, ReasonedTurns: 1}, [4]Verdict{Kept, Kept, Kept, Kept}},
		{"no reasoning", silent, [4]Verdict{Discarded, Kept, Discarded, Kept}},
		{"invalid tool", invented, [4]Verdict{Filtered, Filtered, Kept, Kept}},
		{"both", both, [4]Verdict{Discarded, Filtered, Discarded, Kept}},
	} {
		filters := [4]Filters{{}, {KeepWithoutReasoning: true}, {KeepInvalidTools: true}, keepAll()}
		for i, f := range filters {
			if got := Judge(test.head, f); got != test.want[i] {
				t.Errorf("%s with %+v: %v, want %v", test.name, f, got, test.want[i])
			}
		}
	}
}

func TestFilterFlags(t *testing.T) {
	var f Filters
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	f.Register(fs)
	if err := fs.Parse([]string{"-keep_without_reasoning", "-keep_invalid_tools=true"}); err != nil || f != keepAll() {
		t.Errorf("%+v, %v", f, err)
	}
}
