package engine

import (
	"strings"
	"testing"
)

// A near miss of a tool's name is run as the tool that it means, once, and
// counted; a name that means none is an error.
func TestToolNamesAreRepaired(t *testing.T) {
	b := newBench(t, func(a ask) (int, string) {
		switch a.Turn {
		case 0:
			return calls("terminalterminal", `{"command":"echo x >> log; cat log"}`)
		case 1:
			return calls("Read-File", `{"path":"log"}`, "consult_oracle", `{}`)
		}
		return says("done")
	})
	b.prompts("a")
	b.mustRun()
	b.wantEnds(answered)
	out := b.outcome(0)
	if out.Repairs != 2 || out.ToolStats["terminal"].Success != 1 || out.ToolStats["read_file"].Success != 1 || out.ToolStats["invalid_tool"].Failure != 1 {
		t.Errorf("outcome %+v", out)
	}
	if talk := strings.Join(b.talk(0), "\n"); strings.Contains(talk, "terminalterminal") || strings.Count(talk, `x\\n`) != 1 {
		t.Errorf("conversation %s", talk)
	}
}
