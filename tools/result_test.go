package tools

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"hermes-batch/tools/sandbox"
)

func TestBound(t *testing.T) {
	long := strings.Repeat("zażółć ", 40_000)
	for name, text := range map[string]string{
		"one long string":   encode(struct{ Success, Analysis string }{"true", long}),
		"the longest":       encode(struct{ A, B string }{long[:30_000], long}),
		"control bytes":     encode(struct{ Output string }{strings.Repeat("\x00", 200_000)}),
		"quotes and breaks": encode(struct{ Output string }{strings.Repeat("\"\n", 100_000)}),
		"a long list":       encode(struct{ Results []string }{[]string{long, long}}),
		"two long strings":  encode(struct{ A, B, C string }{long, long, long}),
		"no JSON":           long,
	} {
		t.Run(name, func(t *testing.T) {
			r := finished(t, Result{Text: text, Success: true, Status: StatusOK})
			checkResult(t, r)
			if !utf8.ValidString(r.Text) {
				t.Error("result is not valid UTF-8")
			}
			if r.Dropped == 0 || !strings.Contains(r.Text, "bytes dropped") {
				t.Errorf("%d bytes dropped; the text does not say so: %.100s", r.Dropped, r.Text)
			}
			if len(r.Text) < resultLimit*9/10 {
				t.Errorf("only %d bytes are left", len(r.Text))
			}
		})
	}
}

// finished is what a model without a sandbox is shown.
func finished(t *testing.T, r Result) Result {
	t.Helper()
	r, err := (&Call{}).finish(r)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBoundKeepsHeadAndTail(t *testing.T) {
	text := "begin" + strings.Repeat("-", 300_000) + "end"
	r := finished(t, Result{Text: encode(struct {
		Output   string `json:"output"`
		ExitCode int    `json:"exit_code"`
	}{text, 7})})
	output := textField(t, r, "output")
	if !strings.HasPrefix(output, "begin") || !strings.HasSuffix(output, "end") || field(t, r, "exit_code") != "7" {
		t.Errorf("got %.20s … %s", r.Text, r.Text[len(r.Text)-40:])
	}
	head, _, _ := strings.Cut(output, "\n[...")
	if share := 100 * len(head) / len(output); share != headPercent && share != headPercent-1 {
		t.Errorf("the head is %d %% of what is left", share)
	}
	if kept := len(strings.ReplaceAll(output, "\n", "")) - len("[...  bytes dropped ...]") - len("200000"); int64(len(text)-kept) != r.Dropped {
		t.Errorf("%d of %d bytes are left, and %d are said to be dropped", kept, len(text), r.Dropped)
	}
}

func TestResultIsValidUTF8(t *testing.T) {
	if r := finished(t, Result{Text: "{\"a\":\"\xff\"}"}); r.Text != "{\"a\":\"\uFFFD\"}" {
		t.Errorf("got %q", r.Text)
	}
}

func TestShortResultsStayAsTheyAre(t *testing.T) {
	for _, text := range []string{`{"output":"<a & b>"}`, "plain", ""} {
		if r := finished(t, Result{Text: text}); r.Text != text || r.Dropped != 0 {
			t.Errorf("%q became %q", text, r.Text)
		}
	}
}

// probe is a tool of whatever kind a test needs.
type probe struct {
	spec Spec
	call func(*Call) (Result, error)
}

func (p probe) Spec() Spec                                      { return p.spec }
func (p probe) Call(_ context.Context, c *Call) (Result, error) { return p.call(c) }

func TestRunBrokenTool(t *testing.T) {
	broken := errors.New("the disk is gone")
	_, err := Run(context.Background(), probe{Spec{Name: "probe"}, func(*Call) (Result, error) { return Result{}, broken }}, &Call{Args: json.RawMessage(`{}`)})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "probe") {
		t.Errorf("got %v", err)
	}
}

func TestRunDoesNotCallWithBadArguments(t *testing.T) {
	tool := probe{Spec{Name: "probe", Parameters: json.RawMessage(`{"required":["a"],"properties":{"a":{}}}`)}, func(*Call) (Result, error) {
		t.Error("called")
		return Result{}, nil
	}}
	r, err := Run(context.Background(), tool, &Call{Args: json.RawMessage(`{}`)})
	if err != nil || r.Status != StatusBadArguments || r.Success {
		t.Errorf("got %+v, %v", r, err)
	}
}

// A restart finds out what it may run again.
func TestRecall(t *testing.T) {
	ctx := context.Background()
	state := func(tool Tool, c *Call) sandbox.CallState {
		t.Helper()
		_, state, err := Recall(ctx, tool, c)
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	s := newSession(t)
	s.write("a.txt", "a")

	write := s.call(`{"path":"b.txt","content":"b"}`)
	if got := state(writeFile{}, write); got != sandbox.CallNever {
		t.Errorf("write_file before it began: %v", got)
	}
	if _, err := Run(ctx, writeFile{}, write); err != nil {
		t.Fatal(err)
	}
	if got := state(writeFile{}, write); got != sandbox.CallLost {
		t.Errorf("write_file after it began: %v", got)
	}
	if r, err := Run(ctx, writeFile{}, write); err != nil || !r.Success {
		t.Errorf("write_file cannot be run again: %s, %v", r.Text, err)
	}

	read := s.call(`{"path":"a.txt"}`)
	if _, err := Run(ctx, readFile{}, read); err != nil {
		t.Fatal(err)
	}
	if got := state(readFile{}, read); got != sandbox.CallNever {
		t.Errorf("read_file, which may be repeated: %v", got)
	}
	if got := state(calculator{}, &Call{Args: json.RawMessage(`{"expression":"1"}`)}); got != sandbox.CallNever {
		t.Errorf("calculator: %v", got)
	}

	command := s.call(`{"command":"echo once >> log; echo done; exit 3","timeout":"60"}`)
	first, err := Run(ctx, terminal{}, command)
	if err != nil {
		t.Fatal(err)
	}
	again, got, err := Recall(ctx, terminal{}, command)
	if err != nil || got != sandbox.CallDone || again.Text != first.Text || !again.Success {
		t.Errorf("terminal: %v %v\n got %s\nwant %s", got, err, again.Text, first.Text)
	}
	if log := s.read("log"); log != "once\n" {
		t.Errorf("the command ran more than once: %q", log)
	}
}
