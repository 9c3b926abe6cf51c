package export

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"hermes-batch/db"
)

// FuzzRender renders a session of which everything that a model, a server or
// somebody else's store can choose is chosen. All files come out, whole and in
// agreement with each other, and what is printed controls no terminal.
func FuzzRender(f *testing.F) {
	f.Add("text", "thought", `{"a": 1}`, "call_1", "terminal", "answer", 1, 1, int64(0), 0.25, `{"id": 1.0}`)
	f.Add("\x00\xff\u2028\"\\", "\x1b[2J", "{", "", "\x1b]0;title\x07", "\u202e\n\r", -1, 1<<40, int64(-1), -1.5, `{}`)
	f.Add(strings.Repeat("long", 1000), "", "", "\xed\xa0\x80", "invalid_tool", "", math.MaxInt, math.MinInt, int64(math.MaxInt64), 1e308, `{"\u001b": []}`)
	f.Fuzz(func(t *testing.T, text, thought, arguments, id, name, reason string, count, attempts int, nanos int64, cost float64, extra string) {
		fx := newFixture(t)
		fx.register(1, []db.BadLine{{Line: 1, Reason: text, Hint: name}}, db.Prompt{Text: text + "x", Extra: []byte(extra)}, db.Prompt{Text: "y"})
		out := completed()
		out.Reason, out.Model, out.Isolation, out.ImageDigest, out.Toolsets = reason, name, reason, id, []string{name, ""}
		out.Attempts, out.ToolReruns, out.AssistantTurns, out.APICalls = attempts, count, count, count
		out.ToolStats = map[string]db.ToolStat{name: {Count: count, Success: count, Failure: attempts}, "terminal": {Count: 1, Success: 1}}
		out.InvalidTools = []string{name}
		out.Usage, out.Wall = db.Usage{PromptTokens: nanos, Cost: cost, CostKnown: true}, time.Duration(nanos)
		out.Spent = out.Usage
		fx.session(db.MakeOrdinal(0, 0), out, begun(), gpt(text, thought, db.ToolCall{ID: id, Name: name, Arguments: arguments}),
			&db.Result{Turn: count, Call: attempts, CallID: id, Name: name, Parts: []db.Part{{Type: reason}, {Type: "text", Text: text}}, Status: reason})
		lost := failed("permanent", reason)
		lost.Message, lost.Tries = text, count
		fx.session(db.MakeOrdinal(1, 0), lost, begun())

		rep := fx.render(fx.renderer(Options{Filters: keepAll()}), Final)
		files := fx.files(fx.dir)
		for _, file := range []string{"trajectories.jsonl", "batch_0.jsonl", "errors.jsonl"} {
			for line := range strings.Lines(files[file]) {
				shape(t, strings.TrimSuffix(line, "\n"))
			}
		}
		for _, file := range []string{"checkpoint.json", "statistics.json"} {
			if !json.Valid([]byte(files[file])) {
				t.Errorf("%s: %s", file, files[file])
			}
		}
		if rows := indices(t, files["trajectories.jsonl"]); len(rows) != 1 {
			t.Errorf("rows %v", rows)
		}
		rows, err := parquet.ReadFile[record](filepath.Join(fx.dir, "trajectories.parquet"))
		if err != nil || len(rows) != 1 || rows[0].Conversations[0].Value != string([]rune(text+"x")) {
			t.Errorf("parquet: %v, %v", rows, err)
		}
		var printed bytes.Buffer
		to := filepath.Join(t.TempDir(), "copy")
		c := Copy{Out: to}
		fx.must(c.Write(&printed, func(w io.Writer) error {
			return Stream(context.Background(), fx.store, []string{"--keep_invalid_tools"}, w)
		}))
		if data, err := os.ReadFile(filepath.Join(to, "trajectories.jsonl")); err != nil || string(data) != files["trajectories.jsonl"] {
			t.Errorf("the copy differs: %v", err)
		}
		fx.must(Summary(&printed, rep))
		if at := strings.IndexFunc(printed.String(), func(r rune) bool { return r != '\n' && printable(string(r)) != string(r) }); at >= 0 {
			t.Errorf("printed: %q", printed.String())
		}
	})
}
