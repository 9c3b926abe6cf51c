package export

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"hermes-batch/db"
)

// timeLayout is how files write times: UTC, to the second.
const timeLayout = "2006-01-02T15:04:05"

// row is everything that one rendered row holds.
type row struct {
	ordinal db.Ordinal
	prompt  db.Prompt
	outcome db.Outcome
	entries [][]byte // JSON objects: the conversation after the prompt
}

// loadRow reads what belongs to an outcome.
func loadRow(store *db.Store, o db.Ordinal, out db.Outcome) (r row, err error) {
	r.ordinal, r.outcome = o, out
	if r.prompt, err = store.Prompt(o.Index()); err != nil {
		return r, err
	}
	steps, err := store.ThreadAt(o, out)
	if err != nil {
		return r, err
	}
	r.entries, err = conversation(steps)
	return r, err
}

// conversation returns the entries of a thread: turns in their order, each
// followed by its results in the order of its calls.
func conversation(steps []db.Step) ([][]byte, error) {
	entries := make([][]byte, 0, len(steps))
	for len(steps) > 0 {
		n := 1
		for n < len(steps) && steps[n].Kind != db.KindTurn {
			n++
		}
		if err := orderResults(steps[:n]); err != nil {
			return nil, err
		}
		for _, st := range steps[:n] {
			if st.Kind != db.KindTurn && st.Kind != db.KindResult {
				continue
			}
			entry, ok := st.EntryJSON()
			if !ok {
				return nil, fmt.Errorf("%s attempt %d step %d: %w", st.Ordinal, st.Attempt, st.Number, db.ErrDamaged)
			}
			entries = append(entries, entry)
		}
		steps = steps[n:]
	}
	return entries, nil
}

// orderResults brings the results among the steps of one turn into the order
// of the turn's calls.
func orderResults(steps []db.Step) error {
	type result struct {
		at, call int
		step     db.Step
	}
	var results []result
	for i, st := range steps {
		if st.Kind == db.KindResult {
			results = append(results, result{at: i, step: st})
		}
	}
	if len(results) < 2 {
		return nil
	}
	places := make([]int, len(results))
	for i := range results {
		rec, err := results[i].step.Decode()
		if err != nil {
			return err
		}
		results[i].call, places[i] = rec.(*db.Result).Call, results[i].at
	}
	slices.SortStableFunc(results, func(a, b result) int { return cmp.Compare(a.call, b.call) })
	for i, at := range places {
		steps[at] = results[i].step
	}
	return nil
}

// encoder writes rows as JSON. Every row has the same keys in the same order,
// with values of the same types.
type encoder struct {
	names []string // of the tools, without invalid_tool
	keys  [][]byte // `"name":` for each of names, and for invalid_tool
	stats []db.ToolStat
}

func newEncoder(tools []string) *encoder {
	e := &encoder{}
	for _, name := range tools {
		if name != db.InvalidTool {
			e.names = append(e.names, name)
		}
	}
	for _, name := range append(slices.Clone(e.names), db.InvalidTool) {
		e.keys = append(e.keys, append(db.AppendString(nil, name), ':'))
	}
	e.stats = make([]db.ToolStat, len(e.keys))
	return e
}

// append appends the row as one JSON object without a line end.
func (e *encoder) append(dst []byte, r *row) []byte {
	out := &r.outcome
	dst = appendInt(dst, `{"prompt_index":`, r.ordinal.Index())
	dst = append(dst, `,"conversations":[`...)
	dst = db.Entry{From: "human", Value: r.prompt.Text}.AppendJSON(dst)
	for _, entry := range r.entries {
		dst = append(append(dst, ','), entry...)
	}
	dst = append(dst, `],"metadata":`...)
	dst = appendMetadata(dst, r)
	dst = appendBool(dst, `,"completed":`, out.End == db.EndCompleted)
	dst = appendBool(dst, `,"partial":`, out.End == db.EndPartial)
	dst = appendInt(dst, `,"api_calls":`, out.APICalls)
	dst = append(dst, `,"toolsets_used":[`...)
	for i, name := range out.Toolsets {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = db.AppendString(dst, name)
	}
	dst = append(dst, ']')
	dst = e.appendTools(dst, out.ToolStats)
	dst = appendInt(dst, `,"reasoning_stats":{"total_assistant_turns":`, out.AssistantTurns)
	dst = appendInt(dst, `,"turns_with_reasoning":`, out.ReasonedTurns)
	dst = appendInt(dst, `,"turns_without_reasoning":`, out.AssistantTurns-out.ReasonedTurns)
	dst = appendText(dst, `},"outcome":{"end":`, out.End)
	dst = appendText(dst, `,"reason":`, out.Reason)
	dst = appendInt(dst, `},"rollout_index":`, r.ordinal.Rollout())
	dst = append(dst, `,"usage":`...)
	dst = appendUsage(dst, out.Usage)
	dst = appendText(dst, `,"extra":`, string(r.prompt.Extra))
	return append(dst, '}')
}

func appendMetadata(dst []byte, r *row) []byte {
	out := &r.outcome
	dst = appendInt(dst, `{"batch_num":`, r.prompt.Batch)
	dst = append(dst, `,"timestamp":"`...)
	dst = appendTime(dst, out.At)
	dst = appendText(dst, `","model":`, out.Model)
	dst = appendText(dst, `,"settings":`, out.Settings.String()[:shortHash])
	dst = appendInt(dst, `,"attempts":`, out.Attempts)
	dst = appendInt(dst, `,"tool_reruns":`, out.ToolReruns)
	dst = appendInt(dst, `,"repairs":`, out.Repairs)
	dst = appendInt(dst, `,"replayed":`, out.Replayed)
	dst = appendText(dst, `,"isolation":`, out.Isolation)
	dst = appendBool(dst, `,"shared_cwd":`, out.SharedCwd)
	dst = appendText(dst, `,"image_digest":`, out.ImageDigest)
	return append(dst, '}')
}

// shortHash is how many hex digits of a settings fingerprint a row shows.
const shortHash = 12

// name is the name of the tool with this index in what figures returns.
func (e *encoder) name(i int) string {
	if i == len(e.names) {
		return db.InvalidTool
	}
	return text(e.names[i])
}

// figures returns those of every tool, in memory that the next call uses
// again. A name that the run's list of tools does not have is one that does
// not exist.
func (e *encoder) figures(used map[string]db.ToolStat) []db.ToolStat {
	clear(e.stats)
	invalid := &e.stats[len(e.names)]
	found := 0
	for i, name := range e.names {
		if st, ok := used[name]; ok {
			e.stats[i] = st
			found++
		}
	}
	if found < len(used) {
		for name, st := range used {
			if !slices.Contains(e.names, name) {
				*invalid = sum(*invalid, st)
			}
		}
	}
	return e.stats
}

// appendTools appends tool_stats and tool_error_counts.
func (e *encoder) appendTools(dst []byte, used map[string]db.ToolStat) []byte {
	stats := e.figures(used)
	dst = append(dst, `,"tool_stats":`...)
	for i, key := range e.keys {
		dst = append(append(dst, "{,"[min(i, 1)]), key...)
		dst = appendInt(dst, `{"count":`, stats[i].Count)
		dst = appendInt(dst, `,"success":`, stats[i].Success)
		dst = appendInt(dst, `,"failure":`, stats[i].Failure)
		dst = append(dst, '}')
	}
	dst = append(dst, `},"tool_error_counts":`...)
	for i, key := range e.keys {
		dst = append(append(dst, "{,"[min(i, 1)]), key...)
		dst = strconv.AppendInt(dst, int64(stats[i].Failure), 10)
	}
	return append(dst, '}')
}

func sum(a, b db.ToolStat) db.ToolStat {
	return db.ToolStat{Count: a.Count + b.Count, Success: a.Success + b.Success, Failure: a.Failure + b.Failure}
}

func appendUsage(dst []byte, u db.Usage) []byte {
	dst = appendInt(dst, `{"prompt_tokens":`, u.PromptTokens)
	dst = appendInt(dst, `,"completion_tokens":`, u.CompletionTokens)
	dst = appendInt(dst, `,"reasoning_tokens":`, u.ReasoningTokens)
	dst = appendInt(dst, `,"cached_tokens":`, u.CachedTokens)
	dst = append(dst, `,"cost":`...)
	dst = appendFloat(dst, u.Cost)
	dst = appendBool(dst, `,"cost_known":`, u.CostKnown)
	return append(dst, '}')
}

func appendInt[T int | int64](dst []byte, before string, n T) []byte {
	return strconv.AppendInt(append(dst, before...), int64(n), 10)
}

func appendBool(dst []byte, before string, b bool) []byte {
	return strconv.AppendBool(append(dst, before...), b)
}

func appendText(dst []byte, before, text string) []byte {
	return db.AppendString(append(dst, before...), text)
}

func appendTime(dst []byte, t time.Time) []byte { return t.UTC().AppendFormat(dst, timeLayout) }
