package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// row is what is looked at in a row.
type row struct {
	PromptIndex   int     `json:"prompt_index"`
	Conversations []entry `json:"conversations"`
	Completed     bool    `json:"completed"`
	Partial       bool    `json:"partial"`
	Outcome       struct {
		End    string `json:"end"`
		Reason string `json:"reason"`
	} `json:"outcome"`
}

type entry struct {
	From       string `json:"from"`
	Value      string `json:"value"`
	ToolCallID string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// row checks one row: that it is of this prompt alone, well formed, and no empty
// success.
func (s *soak) row(line []byte) (wrong []string) {
	var r row
	if err := json.Unmarshal(line, &r); err != nil {
		return []string{err.Error()}
	}
	if len(r.Conversations) < 2 || r.Conversations[0].From != "human" || r.Conversations[0].Value != s.deal.prompt(r.PromptIndex) {
		return []string{"is not that prompt's"}
	}
	wrong = answeredInOrder(r.Conversations[1:])
	last := r.Conversations[len(r.Conversations)-1]
	if r.Completed != (r.Outcome.End == "completed") || r.Partial != (r.Outcome.End == "partial") {
		wrong = append(wrong, "says otherwise than its outcome how it ended")
	}
	if r.Completed && (last.From != "gpt" || len(last.ToolCalls) > 0 || strings.TrimSpace(last.Value) == "") {
		wrong = append(wrong, fmt.Sprintf("is an empty success: %+v", last))
	}
	if k := s.deal.kind(r.PromptIndex); r.Completed && k.end == answered {
		wrong = append(wrong, k.missing(r)...)
	}
	return wrong
}

// answeredInOrder checks that each call has its result, in the order of the
// calls, and that there are no others.
func answeredInOrder(entries []entry) (wrong []string) {
	var open []string
	seen := map[string]bool{}
	for _, e := range entries {
		switch {
		case e.From == "tool" && len(open) > 0 && open[0] == e.ToolCallID:
			open = open[1:]
		case e.From == "gpt" && len(open) == 0:
			for _, c := range e.ToolCalls {
				if c.ID == "" || seen[c.ID] || !json.Valid([]byte(c.Function.Arguments)) {
					wrong = append(wrong, fmt.Sprintf("has a call without an id of its own, or bad arguments: %+v", c))
				}
				seen[c.ID] = true
				open = append(open, c.ID)
			}
		default:
			return append(wrong, fmt.Sprintf("has an entry of %q where %d results are due", e.From, len(open)))
		}
	}
	if len(open) > 0 {
		wrong = append(wrong, fmt.Sprintf("lacks results of %q", open))
	}
	return wrong
}

// missing are the texts that the results and the answer of a kind have, and this
// row has not.
func (k *kind) missing(r row) (wrong []string) {
	var all strings.Builder
	for _, e := range r.Conversations[1:] {
		all.WriteString(e.Value + "\n")
	}
	want := k.says
	if k.turns != nil {
		want = append([]string{"Prompt {n} is done."}, want...)
	}
	for _, text := range want {
		if text = numbered(text, r.PromptIndex); !strings.Contains(all.String(), text) {
			wrong = append(wrong, fmt.Sprintf("(%s) does not say %q: %.2000q", k.name, text, all.String()))
		}
	}
	return wrong
}
