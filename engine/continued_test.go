package engine

import (
	"strings"
	"testing"
)

// cut is a reply that reached the token limit.
func cut(text string) (int, string) {
	return 200, message(map[string]any{"role": "assistant", "content": text, "reasoning": "I think."}, "length")
}

// An answer that reaches the token limit is gone on with; the pieces are one
// turn, and what asked for them stands in no entry.
func TestCutAnswerGoesOn(t *testing.T) {
	b := newBench(t, func(a ask) (int, string) {
		switch strings.Count(a.Body, goOnText) {
		case 0:
			return cut("one, ")
		case 1:
			return cut("two, ")
		}
		return says("three.")
	})
	b.prompts("count")
	b.mustRun()
	b.wantEnds(answered)
	talk := b.talk(0)
	if len(talk) != 1 || !strings.Contains(talk[0], `"value":"one, two, three."`) {
		t.Errorf("conversation %q", talk)
	}
	out := b.outcome(0)
	if out.APICalls != 1 || out.Tries != 3 || out.Usage.PromptTokens != 30 || out.Spent.PromptTokens != 30 {
		t.Errorf("outcome %+v", out)
	}
}

// Pieces with tool calls at the end are one turn of the next request, too.
func TestCutTurnWithCallsGoesOn(t *testing.T) {
	b := newBench(t, func(a ask) (int, string) {
		switch {
		case strings.Contains(a.Body, `"tool_call_id"`):
			if strings.Contains(a.Body, goOnText) || !strings.Contains(a.Body, `"content":"I will now calculate."`) {
				return 400, `{"error":{"message":"pieces are not joined"}}`
			}
			return says("4")
		case strings.Contains(a.Body, goOnText):
			return 200, message(map[string]any{"role": "assistant", "content": "calculate.", "tool_calls": []any{map[string]any{
				"id": "c", "type": "function", "function": map[string]any{"name": "calculator", "arguments": `{"expression":"2+2"}`}}}}, "tool_calls")
		}
		return cut("I will now ")
	})
	b.prompts("calculate")
	b.mustRun()
	b.wantEnds(answered)
}

// What never ends is taken as it is, and marked.
func TestAnswerIsCutForEver(t *testing.T) {
	b := newBench(t, func(ask) (int, string) { return cut("more ") })
	b.prompts("talk")
	b.mustRun()
	b.wantEnds("partial/cut_replies")
	b.model.wantCount(1 + maxContinued)
	if talk := b.talk(0); len(talk) != 1 || !strings.Contains(talk[0], "more more more more") {
		t.Errorf("conversation %q", talk)
	}
}
