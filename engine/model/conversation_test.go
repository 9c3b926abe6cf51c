package model

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

func sent(t *testing.T, c *Conversation) string {
	t.Helper()
	b := c.body(limitOld)
	data, err := io.ReadAll(b.open())
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(data)) != b.size {
		t.Errorf("the body has %d bytes, %d are announced", len(data), b.size)
	}
	if !json.Valid(data) {
		t.Errorf("the body is no JSON: %s", data)
	}
	return string(data)
}

func TestConversationBody(t *testing.T) {
	c := NewConversation(Params{
		Kind: OpenRouter, Model: "vendor/m", MaxTokens: 100, System: "be brief",
		Prefill:   []Message{{Role: "user", Content: "hi"}, {Role: "assistant", Content: "hello"}},
		Reasoning: json.RawMessage(`{"effort":"none"}`), ReasoningEffort: "low", Provider: json.RawMessage(`{"sort":"price"}`),
		Tools: json.RawMessage(`[{"type":"function","function":{"name":"t"}}]`),
	}, "a < b && \u2028 \x01 \"q\" \\ \xff")
	if c.turns != 0 {
		t.Errorf("the prefill counts as %d turns", c.turns)
	}
	c.Append(Message{Role: "assistant", Reasoning: "hm", ReasoningField: "reasoning", ToolCalls: []Call{
		{"i1", "t", `{"x": "<&>",  "n":1e400}`}, {"i2", "t", ""}, {"i3", "", "{}"},
	}})
	c.Append(Message{Role: "tool", ToolCallID: "i1", Name: "t", Content: ""}, Message{Role: "tool", ToolCallID: "i2", Name: "not a name", Content: "x\ny\t"})
	want := `{"model":"vendor/m","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hi"},` +
		`{"role":"assistant","content":"hello"},{"role":"user","content":"a < b && ` + "\u2028" + ` \u0001 \"q\" \\ ` + "\ufffd" + `"},` +
		`{"role":"assistant","content":"","reasoning":"hm","tool_calls":[` +
		`{"id":"i1","type":"function","function":{"name":"t","arguments":"{\"x\": \"<&>\",  \"n\":1e400}"}},` +
		`{"id":"i2","type":"function","function":{"name":"t","arguments":"{}"}},` +
		`{"id":"i3","type":"function","function":{"name":"unnamed","arguments":"{}"}}]},` +
		`{"role":"tool","content":"","tool_call_id":"i1","name":"t"},{"role":"tool","content":"x\ny\t","tool_call_id":"i2"}]` +
		`,"max_tokens":100,"reasoning":{"effort":"none"},"reasoning_effort":"low","provider":{"sort":"price"}` +
		`,"tools":[{"type":"function","function":{"name":"t"}}]}`
	if got := sent(t, c); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if c.turns != 1 {
		t.Errorf("got %d turns, want 1", c.turns)
	}
	if got := sent(t, NewConversation(Params{Model: "m"}, "p")); got != `{"model":"m","messages":[{"role":"user","content":"p"}]}` {
		t.Errorf("a plain request is %s", got)
	}
}

func TestReasoningIsEchoedUnderItsName(t *testing.T) {
	tests := []struct {
		kind  Kind
		field string
		want  string
	}{
		{Other, "reasoning_content", `"reasoning_content":"hm"`},
		{OpenRouter, "reasoning_content", `"reasoning_content":"hm"`},
		{OpenRouter, "reasoning", `"reasoning":"hm"`},
		{Other, "reasoning", ""},
		{Loopback, "thinking", ""},
		{OpenRouter, "content", ""},
		{Other, "", ""},
	}
	for _, tt := range tests {
		c := NewConversation(Params{Kind: tt.kind, Model: "m"}, "p")
		c.Append(Message{Role: "assistant", Content: "x", Reasoning: "hm", ReasoningField: tt.field})
		body := sent(t, c)
		if got := strings.Contains(body, "hm"); got != (tt.want != "") || !strings.Contains(body, tt.want) {
			t.Errorf("kind %v, field %q: %s", tt.kind, tt.field, body)
		}
	}
}

// A body that is being read must not change when the conversation goes on.
func TestBodyIsASnapshot(t *testing.T) {
	c := NewConversation(Params{Model: "m"}, "p")
	b := c.body(limitOld)
	before, _ := io.ReadAll(b.open())
	for range 20 {
		c.Append(Message{Role: "assistant", Content: "more"})
	}
	after, _ := io.ReadAll(b.open())
	if string(before) != string(after) {
		t.Errorf("the body changed from %s to %s", before, after)
	}
}

// The hash is frozen: stores hold it.
func TestRequestHashVectors(t *testing.T) {
	small := NewConversation(Params{Model: "m"}, "p")
	full := NewConversation(Params{
		Kind: OpenRouter, Model: "m", MaxTokens: 5, System: "s", Reasoning: json.RawMessage(`{}`), ReasoningEffort: "low",
		Provider: json.RawMessage(`{"sort":"price"}`), Tools: json.RawMessage(`[]`), Copy: 2, Rollout: 3,
	}, "p")
	full.Append(Message{Role: "assistant", Content: "c", Reasoning: "r", ReasoningField: "x", ToolCalls: []Call{{"i", "n", "{}"}}},
		Message{Role: "tool", ToolCallID: "i", Name: "n", Content: "out"})
	for _, tt := range []struct {
		name string
		conv *Conversation
		want string
	}{
		{"small", small, "ef96672443fceb22fa1dcf865dbe55d2bdef8c3d4564df146113824cba87dc2c"},
		{"full", full, "bcec4aa4ede398e4a3c1d818659cba372d5058513a55bad0c2f85be3b4636813"},
	} {
		if got := tt.conv.Hash(); hex.EncodeToString(got[:]) != tt.want {
			t.Errorf("%s: got %x, want %s", tt.name, got, tt.want)
		}
	}
}

// The definition, written out a second time.
func TestRequestHashDefinition(t *testing.T) {
	field := func(parts ...string) string {
		s := strings.Join(parts, "")
		return string(binary.BigEndian.AppendUint64(nil, uint64(len(s)))) + s
	}
	c := NewConversation(Params{Model: "m", MaxTokens: 5, Tools: json.RawMessage(`[]`), Rollout: 1}, "p")
	c.Append(Message{Role: "assistant", Content: "c", Reasoning: "r", ToolCalls: []Call{{"i", "n", "{}"}}})
	want := sha256.Sum256([]byte(field("request/1") + field("m") + field("[]") + field(field("max_tokens"), field("5")) + field("0") + field("1") +
		field(field("user"), field("p"), field(), field(), field()) +
		field(field("assistant"), field("c"), field("r"), field(), field(), field("i"), field("n"), field("{}"))))
	if got := c.Hash(); got != want {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestRequestHashTellsRequestsApart(t *testing.T) {
	base := Params{Model: "m"}
	with := func(change func(*Params)) *Conversation {
		p := base
		change(&p)
		return NewConversation(p, "p")
	}
	same := []*Conversation{
		NewConversation(base, "p"),
		with(func(p *Params) { p.Kind = OpenRouter }),
		with(func(p *Params) { p.Provider = json.RawMessage(`{"sort":"price"}`) }),
	}
	for i, c := range same {
		if c.Hash() != same[0].Hash() {
			t.Errorf("routing changes the hash (%d)", i)
		}
	}
	other := []*Conversation{
		same[0],
		NewConversation(base, "q"),
		with(func(p *Params) { p.Model = "n" }),
		with(func(p *Params) { p.MaxTokens = 1 }),
		with(func(p *Params) { p.ReasoningEffort = "low" }),
		with(func(p *Params) { p.Reasoning = json.RawMessage("low") }),
		with(func(p *Params) { p.Tools = json.RawMessage("[]") }),
		with(func(p *Params) { p.System = "s" }),
		with(func(p *Params) { p.Prefill = []Message{{Role: "user", Content: "x"}} }),
		with(func(p *Params) { p.Copy = 1 }),
		with(func(p *Params) { p.Rollout = 1 }),
	}
	seen := map[[32]byte]int{}
	for i, c := range other {
		if j, dup := seen[c.Hash()]; dup {
			t.Errorf("requests %d and %d have one hash", i, j)
		}
		seen[c.Hash()] = i
	}
	before := same[0].Hash()
	if before != same[0].Hash() {
		t.Error("asking for the hash changes it")
	}
	same[0].Append(Message{Role: "assistant", Content: "x"})
	if before == same[0].Hash() {
		t.Error("a message does not change the hash")
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\/\b\f\n\r\t\x00\x7f", "<>&\u2028\u2029", "\xff\xed\xa0\x80", "é😀"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var back string
		if err := json.Unmarshal(appendString(nil, s), &back); err != nil || back != valid(s) {
			t.Errorf("%q came back as %q, %v", s, back, err)
		}
	})
}

func BenchmarkAppendAndHash(b *testing.B) {
	content := strings.Repeat("some text with \"quotes\" and\nlines ", 100)
	for b.Loop() {
		c := NewConversation(Params{Model: "m"}, content)
		for range 10 {
			c.Append(Message{Role: "assistant", Content: content})
			c.Hash()
		}
	}
}
