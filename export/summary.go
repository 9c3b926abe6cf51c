package export

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"hermes-batch/db"
)

// topTools is how many tools a summary shows.
const topTools = 8

// Summary writes what a rendering found as a table for people: plain text
// without escapes, in one write. A report without statistics gives the counts and
// files only.
func Summary(w io.Writer, rep *Report) error {
	var text bytes.Buffer
	t := &table{tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)}
	retry := ""
	if rep.Statistics != nil {
		retry = rep.Statistics.RetryFailed
	}
	t.counts(rep.Counts, retry)
	if s := rep.Statistics; s != nil {
		t.reasons(s)
		t.tools(s.Tools)
		t.usage(s)
	}
	t.files(rep)
	if hint := reasoningHint(rep.Counts); hint != "" {
		t.line("", "")
		t.line(hint)
	}
	t.Flush()
	_, err := w.Write(text.Bytes())
	return err
}

// reasoningHint tells which flag keeps discarded prompts if none or few are
// kept; "" if there is nothing to tell.
func reasoningHint(c Counts) string {
	if c.Discarded == 0 || 2*c.Discarded < c.Finished() {
		return ""
	}
	return fmt.Sprintf("NOTE: %d of %d finished prompts were discarded because no turn had reasoning.\n"+
		"      If the model shows none, --resume --keep_without_reasoning keeps them without any new call.", c.Discarded, c.Finished())
}

// table takes rows of cells.
type table struct{ *tabwriter.Writer }

func (t *table) line(cells ...string) {
	for i := range cells {
		cells[i] = printable(cells[i])
	}
	fmt.Fprintln(t, strings.Join(cells, "\t"))
}

// printable replaces what could control a terminal; names of tools come from
// models and servers.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

func (t *table) counts(c Counts, retry string) {
	t.line("prompts", fmt.Sprint(c.Total))
	t.count("kept", c.Kept, "in the merged file")
	t.count("filtered", c.Filtered, "called a tool that does not exist; in their batch file only")
	t.count("discarded", c.Discarded, "no turn had reasoning")
	t.count("failed", c.Failed, "listed in errors.jsonl; "+triedAgain(retry))
	t.count("pending", c.Pending, "not finished; --resume goes on with them")
	if n := c.Finished(); n > 0 {
		t.line("finished", fmt.Sprint(n), fmt.Sprintf("%d completed, %d incomplete, %d partial", c.Completed, c.Incomplete, c.Partial))
	}
}

// triedAgain tells how failed prompts are tried again under a setting of
// --retry_failed, which a resume takes over.
func triedAgain(retry string) string {
	switch retry {
	case "none":
		return "--resume --retry_failed=all tries them again"
	case db.ClassTransient:
		return "--resume tries the transient ones again, --retry_failed=all the others too"
	}
	return "--resume tries them again"
}

// count shows a number with what it means, which is said only if it is not 0.
func (t *table) count(name string, n int, about string) {
	if n == 0 {
		t.line("  "+name, "0")
		return
	}
	t.line("  "+name, fmt.Sprint(n), about)
}

func (t *table) reasons(s *Statistics) {
	for _, end := range []string{db.EndIncomplete, db.EndPartial} {
		if len(s.Ends[end]) > 0 {
			t.line(end, "", byNumber(s.Ends[end]))
		}
	}
	for _, class := range slices.Sorted(maps.Keys(s.Failures)) {
		if len(s.Failures[class]) > 0 {
			t.line("failed", "", class+": "+byNumber(s.Failures[class]))
		}
	}
	if len(s.InvalidTools) > 0 {
		t.line("no such tool", "", byNumber(s.InvalidTools))
	}
	if s.BadLines > 0 {
		t.line("bad lines", fmt.Sprint(s.BadLines), "skipped in the dataset; listed in errors.jsonl")
	}
}

// byNumber lists names with their numbers, the most frequent ones first.
func byNumber(m map[string]int) string {
	names := slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b))
	})
	var parts []string
	for i, name := range names {
		if i == topTools {
			parts = append(parts, fmt.Sprintf("and %d more", len(names)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %d", shorten(name), m[name]))
	}
	return strings.Join(parts, ", ")
}

// shorten bounds a name that somebody else made up.
func shorten(name string) string {
	if runes := []rune(name); len(runes) > 40 {
		return string(runes[:39]) + "…"
	}
	return name
}

func (t *table) tools(tools map[string]ToolRates) {
	if len(tools) == 0 {
		return
	}
	names := slices.SortedFunc(maps.Keys(tools), func(a, b string) int {
		return cmp.Or(cmp.Compare(tools[b].Count, tools[a].Count), cmp.Compare(a, b))
	})
	t.line("tool calls")
	for i, name := range names {
		if i == topTools {
			t.line("  …", "", fmt.Sprintf("and %d more tools, see statistics.json", len(names)-i))
			break
		}
		st := tools[name]
		t.line("  "+shorten(name), fmt.Sprint(st.Count), fmt.Sprintf("%d ok, %d failed (%s %% ok)", st.Success, st.Failure, st.SuccessRate))
	}
}

func (t *table) usage(s *Statistics) {
	re := s.Reasoning
	t.line("model turns", fmt.Sprint(re.Turns), fmt.Sprintf("%d with reasoning (%s %%)", re.With, re.WithRate))
	u := s.Usage.Spent
	t.line("tokens", fmt.Sprint(u.PromptTokens+u.CompletionTokens),
		fmt.Sprintf("%d prompt, %d completion; in kept rows %d", u.PromptTokens, u.CompletionTokens,
			s.Usage.Kept.PromptTokens+s.Usage.Kept.CompletionTokens))
	if u.CostKnown || u.Cost > 0 {
		about := ""
		if !u.CostKnown {
			about = "at least: not all replies named their cost"
		}
		t.line("cost", "$"+u.Cost.String(), about)
	}
	t.line("time", s.Duration.String()+" s", "in "+plural(s.Durations.Launches, "session", "sessions"))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// files lists what was rendered; all batch files as one line.
func (t *table) files(rep *Report) {
	if len(rep.Files) == 0 {
		return
	}
	t.line("files")
	for _, f := range rep.Files {
		if strings.HasPrefix(filepath.Base(f.Path), "batch_") && f.State != LeftOut && f.State != Removed {
			continue
		}
		about := string(f.State)
		if f.State == Written || f.State == Unchanged {
			about = fmt.Sprintf("%s, %d bytes", f.State, f.Bytes)
			if strings.HasSuffix(f.Path, ".jsonl") {
				about = fmt.Sprintf("%s, %s, %d bytes", f.State, plural(f.Rows, "row", "rows"), f.Bytes)
			}
		}
		t.line("  "+f.Path, "", about)
	}
	if rep.Batches > 0 {
		t.line("  "+plural(rep.Batches, "batch file", "batch files"), "", plural(rep.Counts.Kept+rep.Counts.Filtered, "row", "rows"))
	}
	if rep.LongRows > 0 {
		t.line("", "", plural(rep.LongRows, "row is", "rows are")+" longer than 10 MiB, which some readers of JSONL refuse")
	}
}
