package tools

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"strings"
	"testing"

	"hermes-batch/tools/sandbox"
)

// What is nested without end is refused or read, and does not overflow the
// stack, which nothing could recover from. The stack is made small for this.
func TestDeepNesting(t *testing.T) {
	const depth = 300_000
	defer debug.SetMaxStack(debug.SetMaxStack(32 << 20))
	box, err := sandbox.OpenLocal(sandbox.LocalOptions{Base: t.TempDir() + "/box"})
	must(t, err)
	t.Cleanup(func() { must(t, box.Close(context.Background(), true)) })
	deep := func(open, middle, end string) string {
		return strings.Repeat(open, depth) + middle + strings.Repeat(end, depth)
	}
	for _, text := range []string{
		deep("[", "", "]"), deep("[", "", ""), deep(`{"a":`, "1", "}"), deep(`{"a":`, "", ""), deep("{'", "", ""), deep(`[{"path":`, "", ""), deep("\\", "", ""), deep(`"{`, "", ""),
	} {
		for _, tool := range builtin {
			r, err := Run(context.Background(), tool, &Call{Key: "1", Args: json.RawMessage(text), Sandbox: box, Shell: sandbox.Shell{Cwd: box.Root()}})
			if err != nil || r.Success {
				t.Errorf("%s %.20s: %.100q, %v", tool.Spec().Name, text, r.Text, err)
			}
		}
		_, _ = Repair(text, Names())
	}
	for _, text := range []string{deep("(", "1", ")"), deep("(", "", ""), deep("-", "1", ""), deep("2^", "1", ""), deep("1+", "1", ""), deep("sqrt(", "1", ")"), deep("2**", "2", ""), deep("1*(2+", "1", ")"), deep("!", "", ""), deep("max(1,", "1", ")")} {
		arguments, err := json.Marshal(map[string]string{"expression": text})
		must(t, err)
		if _, err := Run(context.Background(), calculator{}, &Call{Key: "1", Args: arguments, Sandbox: box}); err != nil {
			t.Errorf("%.20s: %v", text, err)
		}
	}
	for _, pattern := range []string{deep("{", "a", "}"), deep("{a,", "b", "}"), deep("**/", "", ""), deep("[", "", "]"), deep("(", "a", ")"), deep("a/", "", "")} {
		for _, args := range []map[string]string{{"pattern": pattern}, {"pattern": pattern, "target": "files"}, {"pattern": "x", "file_glob": pattern}} {
			arguments, err := json.Marshal(args)
			must(t, err)
			if _, err := Run(context.Background(), searchFiles{}, &Call{Key: "1", Args: arguments, Sandbox: box, Shell: sandbox.Shell{Cwd: box.Root()}}); err != nil {
				t.Errorf("%.20s: %v", pattern, err)
			}
		}
	}
	for _, command := range []string{deep("(", "x", ")"), deep("$(", "x", ")"), deep("{ ", "x", "; }"), deep("if ", "x", "; fi"), deep("`", "", ""), deep("$((", "1", "))")} {
		_ = hardline(command)
	}
}
