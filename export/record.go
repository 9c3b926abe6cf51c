package export

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"hermes-batch/db"
)

// record is a row as trajectories.parquet has it: the columns in the order of
// the row's keys, none of them optional, with types that do not depend on the
// data. What JSON keeps as an object with one key for each tool is a list of
// structs here, and a tool call is flat.
type record struct {
	PromptIndex     int64            `parquet:"prompt_index"`
	Conversations   []recordEntry    `parquet:"conversations,list"`
	Metadata        recordMetadata   `parquet:"metadata"`
	Completed       bool             `parquet:"completed"`
	Partial         bool             `parquet:"partial"`
	APICalls        int64            `parquet:"api_calls"`
	ToolsetsUsed    []string         `parquet:"toolsets_used,list"`
	ToolStats       []recordToolStat `parquet:"tool_stats,list"`
	ToolErrorCounts []recordCount    `parquet:"tool_error_counts,list"`
	ReasoningStats  recordReasoning  `parquet:"reasoning_stats"`
	Outcome         recordOutcome    `parquet:"outcome"`
	RolloutIndex    int64            `parquet:"rollout_index"`
	Usage           recordUsage      `parquet:"usage"`
	Extra           string           `parquet:"extra,plain"`
}

type recordEntry struct {
	From       string       `parquet:"from,dict"`
	Value      string       `parquet:"value,plain"`
	Reasoning  string       `parquet:"reasoning,plain"`
	ToolCalls  []recordCall `parquet:"tool_calls,list"`
	ToolCallID string       `parquet:"tool_call_id,plain"`
	Name       string       `parquet:"name,plain"`
}

type recordCall struct {
	ID        string `parquet:"id,plain"`
	Type      string `parquet:"type,dict"`
	Name      string `parquet:"name,plain"`
	Arguments string `parquet:"arguments,plain"`
}

type recordMetadata struct {
	BatchNum    int64  `parquet:"batch_num"`
	Timestamp   string `parquet:"timestamp,plain"`
	Model       string `parquet:"model,dict"`
	Settings    string `parquet:"settings,dict"`
	Attempts    int64  `parquet:"attempts"`
	ToolReruns  int64  `parquet:"tool_reruns"`
	Repairs     int64  `parquet:"repairs"`
	Replayed    int64  `parquet:"replayed"`
	Isolation   string `parquet:"isolation,dict"`
	SharedCwd   bool   `parquet:"shared_cwd"`
	ImageDigest string `parquet:"image_digest,dict"`
}

type recordToolStat struct {
	Name    string `parquet:"name,dict"`
	Count   int64  `parquet:"count"`
	Success int64  `parquet:"success"`
	Failure int64  `parquet:"failure"`
}

type recordCount struct {
	Name  string `parquet:"name,dict"`
	Count int64  `parquet:"count"`
}

type recordReasoning struct {
	Turns   int64 `parquet:"total_assistant_turns"`
	With    int64 `parquet:"turns_with_reasoning"`
	Without int64 `parquet:"turns_without_reasoning"`
}

type recordOutcome struct {
	End    string `parquet:"end,dict"`
	Reason string `parquet:"reason,dict"`
}

type recordUsage struct {
	PromptTokens     int64   `parquet:"prompt_tokens"`
	CompletionTokens int64   `parquet:"completion_tokens"`
	ReasoningTokens  int64   `parquet:"reasoning_tokens"`
	CachedTokens     int64   `parquet:"cached_tokens"`
	Cost             float64 `parquet:"cost"`
	CostKnown        bool    `parquet:"cost_known"`
}

// unbounded are the columns of text that somebody else wrote, of any length.
// Statistics would repeat whole values of them.
var unbounded = [][]string{
	{"conversations", "list", "element", "value"},
	{"conversations", "list", "element", "reasoning"},
	{"conversations", "list", "element", "tool_calls", "list", "element", "id"},
	{"conversations", "list", "element", "tool_calls", "list", "element", "name"},
	{"conversations", "list", "element", "tool_calls", "list", "element", "arguments"},
	{"conversations", "list", "element", "tool_call_id"},
	{"conversations", "list", "element", "name"},
	{"extra"},
}

// recordOf makes the record of a row. The conversation is taken from the very
// JSON that the JSONL files show.
func recordOf(e *encoder, r *row) (*record, error) {
	out := &r.outcome
	rec := &record{
		PromptIndex:   int64(r.ordinal.Index()),
		Conversations: make([]recordEntry, 1, 1+len(r.entries)),
		Metadata:      recordMetadataOf(r),
		Completed:     out.End == db.EndCompleted,
		Partial:       out.End == db.EndPartial,
		APICalls:      int64(out.APICalls),
		ReasoningStats: recordReasoning{
			Turns: int64(out.AssistantTurns), With: int64(out.ReasonedTurns), Without: int64(out.AssistantTurns - out.ReasonedTurns),
		},
		Outcome:      recordOutcome{End: text(out.End), Reason: text(out.Reason)},
		RolloutIndex: int64(r.ordinal.Rollout()),
		Usage:        recordUsageOf(out.Usage),
		Extra:        text(string(r.prompt.Extra)),
	}
	rec.Conversations[0] = recordEntry{From: "human", Value: text(r.prompt.Text)}
	for _, data := range r.entries {
		var entry db.Entry
		if err := json.Unmarshal(data, &entry); err != nil {
			return nil, fmt.Errorf("row of %s: %w: %w", r.ordinal, db.ErrDamaged, err)
		}
		rec.Conversations = append(rec.Conversations, recordEntryOf(entry))
	}
	for _, name := range out.Toolsets {
		rec.ToolsetsUsed = append(rec.ToolsetsUsed, text(name))
	}
	for i, st := range e.figures(out.ToolStats) {
		name := e.name(i)
		rec.ToolStats = append(rec.ToolStats, recordToolStat{name, int64(st.Count), int64(st.Success), int64(st.Failure)})
		rec.ToolErrorCounts = append(rec.ToolErrorCounts, recordCount{name, int64(st.Failure)})
	}
	return rec, nil
}

func recordEntryOf(e db.Entry) recordEntry {
	entry := recordEntry{From: e.From, Value: e.Value, Reasoning: e.Reasoning, ToolCallID: e.ToolCallID, Name: e.Name}
	for _, c := range e.ToolCalls {
		entry.ToolCalls = append(entry.ToolCalls, recordCall{ID: c.ID, Type: "function", Name: c.Name, Arguments: c.Arguments})
	}
	return entry
}

func recordMetadataOf(r *row) recordMetadata {
	out := &r.outcome
	return recordMetadata{
		BatchNum:    int64(r.prompt.Batch),
		Timestamp:   out.At.UTC().Format(timeLayout),
		Model:       text(out.Model),
		Settings:    out.Settings.String()[:shortHash],
		Attempts:    int64(out.Attempts),
		ToolReruns:  int64(out.ToolReruns),
		Repairs:     int64(out.Repairs),
		Replayed:    int64(out.Replayed),
		Isolation:   text(out.Isolation),
		SharedCwd:   out.SharedCwd,
		ImageDigest: text(out.ImageDigest),
	}
}

func recordUsageOf(u db.Usage) recordUsage {
	return recordUsage{u.PromptTokens, u.CompletionTokens, u.ReasoningTokens, u.CachedTokens, finite(u.Cost), u.CostKnown}
}

// text makes a string what db.AppendString makes of it: bytes that are not UTF-8
// become U+FFFD, one each.
func text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
