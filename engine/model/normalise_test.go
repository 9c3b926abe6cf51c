package model

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// corpusCase is a file of testdata/replies: a body and what becomes of it.
type corpusCase struct {
	About string
	Turn  int
	Taken []string

	Body   json.RawMessage // exactly one of these three
	Text   *string
	Base64 []byte

	Want wantReply
}

type wantReply struct {
	Content, Reasoning, Field, Finish, Refusal string

	Calls   []wantCall
	Usage   wantUsage
	Repairs int
	Fault   *wantFault
}

type wantCall struct{ ID, Name, Arguments, Original, Bad string }

type wantUsage struct {
	Prompt, Completion, Reasoning, Cached int64

	Cost      float64
	CostKnown bool `json:"cost_known"`
}

type wantFault struct{ Class, Reason, Why, Message string }

func (c *corpusCase) bytes() []byte {
	switch {
	case c.Text != nil:
		return []byte(*c.Text)
	case c.Base64 != nil:
		return c.Base64
	}
	return c.Body
}

func (c *corpusCase) normaliser() normaliser {
	n := normaliser{turn: c.Turn, taken: map[string]bool{}}
	for _, id := range c.Taken {
		n.taken[id] = true
	}
	return n
}

func readCorpus(t testing.TB) map[string]corpusCase {
	t.Helper()
	files, err := filepath.Glob("testdata/replies/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	cases := make(map[string]corpusCase)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		dec := json.NewDecoder(strings.NewReader(string(data)))
		dec.DisallowUnknownFields()
		var c corpusCase
		if err := dec.Decode(&c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		cases[strings.TrimSuffix(filepath.Base(file), ".json")] = c
	}
	return cases
}

// got puts a result into the form of the corpus. Texts that need only contain
// what is wanted are replaced by it if they do.
func got(r *Reply, f *fault, want wantReply) wantReply {
	g := wantReply{
		Content: r.Content, Reasoning: r.Reasoning, Field: r.ReasoningField, Finish: r.Finish, Refusal: r.Refusal,
		Usage: wantUsage{
			r.Usage.PromptTokens, r.Usage.CompletionTokens, r.Usage.ReasoningTokens, r.Usage.CachedTokens,
			r.Usage.Cost, r.Usage.CostKnown,
		},
		Repairs: r.Repairs,
	}
	for i, c := range r.Calls {
		call := wantCall(c)
		if i < len(want.Calls) && want.Calls[i].Bad != "" && strings.Contains(call.Bad, want.Calls[i].Bad) {
			call.Bad = want.Calls[i].Bad
		}
		g.Calls = append(g.Calls, call)
	}
	if f != nil {
		g = wantReply{Usage: g.Usage, Fault: &wantFault{f.class.String(), f.reason, f.why, f.message}}
		if want.Fault != nil && strings.Contains(f.message, want.Fault.Message) {
			g.Fault.Message = want.Fault.Message
		}
	}
	return g
}

func TestNormaliseCorpus(t *testing.T) {
	for name, c := range readCorpus(t) {
		t.Run(name, func(t *testing.T) {
			n := c.normaliser()
			raw := c.bytes()
			r, f := n.normalise(raw)
			if diff := cmp.Diff(c.Want, got(r, f, c.Want)); diff != "" {
				t.Errorf("%s\n%s\n(-want +got)\n%s", c.About, raw, diff)
			}
			if string(r.Raw) != string(raw) {
				t.Errorf("the raw bytes were changed to %q", r.Raw)
			}
		})
	}
}

func TestNormaliseMasksSecrets(t *testing.T) {
	n := normaliser{mask: maskKey("sk-secret-1", nil)}
	r, f := n.normalise([]byte(`{"id":"sk-secret-1","choices":[{"message":{"content":"sk-secret-1",` +
		`"reasoning":"a sk-\u0073ecret-1","tool_calls":[{"id":"a","function":{"name":"t","arguments":"{\"k\":\"sk-secret-1\"}"}}]}}]}`))
	if f != nil {
		t.Fatal(f.message)
	}
	all := r.ID + r.Content + r.Reasoning + r.Calls[0].Arguments
	if strings.Contains(all, "sk-secret") || strings.Count(all, "[secret]") != 4 {
		t.Errorf("got %q", all)
	}
}

func FuzzNormalise(f *testing.F) {
	for _, c := range readCorpus(f) {
		f.Add(c.bytes())
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		n := normaliser{turn: 1, taken: map[string]bool{"a1": true, "c00001000": true}}
		r, fault := n.normalise(raw)
		if fault != nil {
			checkFault(t, fault)
			return
		}
		texts := []string{r.Content, r.Reasoning, r.Finish, r.Refusal, r.Model, r.ID}
		ids := map[string]bool{"": true, "a1": true, "c00001000": true}
		for _, c := range r.Calls {
			texts = append(texts, c.ID, c.Name, c.Arguments, c.Original, c.Bad)
			if ids[c.ID] {
				t.Errorf("id %q is empty or taken", c.ID)
			}
			ids[c.ID] = true
			checkObject(t, c.Arguments)
			if c.Bad != "" && c.Arguments != "{}" {
				t.Errorf("bad arguments became %q", c.Arguments)
			}
		}
		for _, s := range texts {
			if !utf8.ValidString(s) {
				t.Errorf("%q is not UTF-8", s)
			}
		}
		if r.Content == "" && r.Reasoning == "" && len(r.Calls) == 0 && r.Refusal == "" {
			t.Error("an empty reply was accepted")
		}
	})
}

func checkFault(t *testing.T, f *fault) {
	t.Helper()
	if f.class < Transient || f.class > Fatal || f.reason == "" || f.why == "" {
		t.Errorf("fault without class, reason or why: %+v", f)
	}
	if line := oneLine(f.message); utf8.RuneCountInString(line) > messageLimit || strings.ContainsAny(line, "\n\r\x1b") {
		t.Errorf("message %q", line)
	}
}

func checkObject(t *testing.T, arguments string) {
	t.Helper()
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &object); err != nil || object == nil {
		t.Errorf("arguments %q are no JSON object: %v", arguments, err)
	}
}

// FuzzArguments wraps a text as the arguments of a call: if it is a JSON object,
// it must come out byte for byte, but for the escapes of lone surrogates.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{
		`{}`, ` {"a": [1, 2.50, 1e400]}`, `{"a":1}{"a":1}`, `{"a":1}{"a":2}`, ``, `null`, `[1]`, `"x"`, `{"a":NaN}`, `{"s":"\ud83d\ude00"}`,
		`{"s":"\\ud800"}`, `{"s":"\ud800\u0041"}`, `{"s":"\uDC00"}`, "{\"s\":\"\n\"}", `{"\ud800":{"\udfff":"\ud800\ud800\udc00"}}`, "\u00a0{}", "{\"a\":\"\xff\"}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		wire := appendString(nil, s)
		body := append([]byte(`{"choices":[{"message":{"tool_calls":[{"id":"x","function":{"name":"t","arguments":`), wire...)
		body = append(body, `}}]}}]}`...)
		var n normaliser
		r, fault := n.normalise(body)
		if fault != nil {
			t.Fatalf("%s: %s", body, fault.message)
		}
		call := r.Calls[0]
		checkObject(t, call.Arguments)
		if !utf8.ValidString(call.Arguments + call.Original + call.Bad) {
			t.Errorf("%+v is not UTF-8", call)
		}
		s = valid(s)
		if !isObject(s) {
			if call.Original != s || r.Repairs != 1 {
				t.Errorf("%q became %+v, %d repairs", s, call, r.Repairs)
			}
			return
		}
		if call.Bad != "" || call.Original != "" || r.Repairs != 0 {
			t.Errorf("%q became %+v, %d repairs", s, call, r.Repairs)
		}
		if !sameButSurrogates(s, call.Arguments) {
			t.Errorf("%q became %q", s, call.Arguments)
		}
	})
}

func isObject(s string) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal([]byte(s), &object) == nil && object != nil
}

// sameButSurrogates compares two texts and skips escapes that became \ufffd.
func sameButSurrogates(before, after string) bool {
	if len(before) != len(after) {
		return false
	}
	for i := 0; i < len(before); i++ {
		if before[i] == after[i] {
			continue
		}
		start := strings.LastIndex(after[:i+1], `\u`)
		if start < 0 || len(after) < start+6 || after[start:start+6] != `\ufffd` || !strings.EqualFold(before[start:start+3], `\ud`) {
			return false
		}
		i = start + 5
	}
	return true
}

// Replies that are nested without end are refused or read as far as texts lie,
// and do not overflow the stack, which is made small for this.
func TestDeepReplies(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(32 << 20))
	deep := func(open, end string) string { return strings.Repeat(open, 1_000_000) + strings.Repeat(end, 1_000_000) }
	for _, body := range []string{
		deep("[", "]"), deep("{", ""), deep(`{"choices":[`, "]}"), deep(`{"error":`, "}"), deep(`{"detail":[`, ""),
		`{"choices":[{"message":{"content":` + deep("[", "]") + `}}]}`,
		`{"choices":[{"message":{"reasoning_details":` + deep(`{"text":`, "}") + `}}]}`,
	} {
		n := normaliser{}
		if _, f := n.normalise([]byte(body)); f == nil || f.class != Transient {
			t.Errorf("%.30s: %v", body, f)
		}
		_ = detailOf([]byte(body))
	}
	for _, arguments := range []string{deep("[", "]"), deep(`{"a":`, "}"), deep("{}", ""), deep(`"{`, "")} {
		n := normaliser{}
		quoted, err := json.Marshal(arguments)
		if err != nil {
			t.Fatal(err)
		}
		r, f := n.normalise(fmt.Appendf(nil, `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"t","arguments":%s}}]}}]}`, quoted))
		if f != nil || len(r.Calls) != 1 || r.Calls[0].Bad == "" && r.Calls[0].Arguments != "{}" {
			t.Errorf("%.30s: %v", arguments, f)
		}
	}
}
