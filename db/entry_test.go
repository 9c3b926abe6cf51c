package db

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestEntryJSON(t *testing.T) {
	for _, test := range []struct {
		entry Entry
		want  string
	}{
		{Entry{}, `{"from":"","value":""}`},
		{Entry{From: "human", Value: "hi"}, `{"from":"human","value":"hi"}`},
		{Entry{From: "gpt", Reasoning: "r"}, `{"from":"gpt","value":"","reasoning":"r"}`},
		{Entry{From: "tool", ToolCallID: "c", Name: "n"}, `{"from":"tool","value":"","tool_call_id":"c","name":"n"}`},
		{
			Entry{From: "gpt", ToolCalls: []ToolCall{{"1", "a", `{"x": "<\u00e9>"}`}, {"2", "b", ""}}},
			`{"from":"gpt","value":"","tool_calls":[{"id":"1","type":"function","function":{"name":"a","arguments":"{\"x\": \"<\\u00e9>\"}"}},` +
				`{"id":"2","type":"function","function":{"name":"b","arguments":""}}]}`,
		},
		{Entry{Value: "<a href='x'>&amp;</a>"}, `{"from":"","value":"<a href='x'>&amp;</a>"}`},
		{Entry{Value: "\x00\x01\b\f\n\r\t\x1f\x7f\"\\/"}, `{"from":"","value":"\u0000\u0001\b\f\n\r\t\u001f` + "\x7f" + `\"\\/"}`},
		{Entry{Value: "a\u2028b\u2029c\u0085"}, `{"from":"","value":"a\u2028b\u2029c` + "\u0085" + `"}`},
		{Entry{Value: "\xffa\xe4\xb8b\xed\xa0\x80"}, `{"from":"","value":"` + "\ufffda\ufffd\ufffdb\ufffd\ufffd\ufffd" + `"}`},
		{Entry{Value: "é世🙂\ufffd"}, `{"from":"","value":"é世🙂` + "\ufffd" + `"}`},
	} {
		if got := string(test.entry.AppendJSON(nil)); got != test.want {
			t.Errorf("\n got %s\nwant %s", got, test.want)
		}
	}
}

func FuzzEntryStrings(f *testing.F) {
	f.Add(odd, `{"a":1}`, "")
	f.Add("\xff\xfe", "\xed\xa0\x80", "\u2028")
	f.Add(strings.Repeat("x", 1000)+"\x00", "{", "r")
	f.Fuzz(func(t *testing.T, value, arguments, reasoning string) {
		valid := func(s string) string { // one U+FFFD for each bad byte
			var b strings.Builder
			for _, r := range s {
				b.WriteRune(r)
			}
			return b.String()
		}
		e := Entry{From: "gpt", Value: value, Reasoning: reasoning, ToolCalls: []ToolCall{{"i", "n", arguments}}}
		data := e.AppendJSON(nil)
		if !json.Valid(data) || !utf8.Valid(data) || strings.ContainsAny(string(data), "\n\r\u2028\u2029") {
			t.Fatalf("not one line of JSON: %q", data)
		}
		var got Entry
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		want := Entry{From: "gpt", Value: valid(value), Reasoning: valid(reasoning), ToolCalls: []ToolCall{{"i", "n", valid(arguments)}}}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}
