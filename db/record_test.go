package db

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// odd is a string that encoders like to change.
const odd = "a\"b\\c\x00\x1f\x7f<>&'\u2028\u2029é世🙂\r\n\t/ \ufffd{\"x\": 1.0}"

// everyRecord returns records that use all fields of all kinds, in an order in
// which a session could have them.
func everyRecord() []Record {
	h := Hash{1, 2, 3}
	return []Record{
		&Attempt{Parent: -1, ForkStep: -1, Reason: "start", Toolsets: []string{"terminal", odd}, Offered: []string{"read_file"}, Launch: 3, At: testTime},
		&Sandbox{
			Kind: "docker", Folder: "/work/" + odd, Nonce: "n", Container: "c0ffee", Started: testTime, Boot: "boot",
			Isolation: "none", SharedCwd: true, ImageDigest: "sha256:1", At: testTime.Add(time.Nanosecond),
		},
		&Rejected{Raw: []byte("<html>" + odd), Request: h, Usage: Usage{PromptTokens: 9}, Why: "cut", Status: 502, Launch: 1, At: testTime, Took: 3},
		&Turn{
			Entry: Entry{From: "gpt", Value: odd, Reasoning: odd, ToolCalls: []ToolCall{
				{ID: "call_1", Name: "terminal", Arguments: `{"command": "echo <\u00e9>",  "n": 1.0}`}, {ID: odd, Name: odd, Arguments: odd},
			}},
			Raw: []byte(`{"choices": []}`), Request: h, Usage: Usage{1, 2, 3, 4, 0.25, true}, Finish: "tool_calls",
			ReasoningField: "reasoning_content", Repairs: 1, Tries: 2, BadCalls: []BadCall{{Call: 1, Why: odd}}, Replayed: true, Launch: 3, At: testTime, Took: time.Second,
		},
		&Result{
			Turn: 3, Call: 0, CallID: "call_1", Name: "terminal", Parts: []Part{{Type: "text", Text: odd}, {Type: "image"}, {Type: "text", Text: "two"}},
			Success: true, Status: "ok", Dropped: 12, Shell: &Shell{Cwd: "/tmp/é", Env: "declare -x A=\"" + odd + "\"\n"}, Launch: 3, At: testTime, Took: 5,
		},
		&Rerun{Turn: 3, Call: 1, Why: "nobody knows", Launch: 3, At: testTime},
		&Result{Turn: 3, Call: 1, CallID: odd, Name: odd, Status: "invalid_tool", Launch: 3},
		&Retry{Toolsets: []string{"file"}, Offered: []string{"read_file"}, Tries: 7, Reason: "server", Launch: 4, At: testTime},
		&Turn{Entry: Entry{From: "gpt"}},
		&Rejected{}, &Sandbox{}, &Rerun{}, &Retry{}, &Result{Shell: &Shell{}},
	}
}

func TestRecordsComeBack(t *testing.T) {
	s := newStore(t)
	register(t, s, 2)
	want := everyRecord()
	for i, size := range []int{1, len(want)} { // one commit each, and one for all
		l := openLog(t, s, MakeOrdinal(i, 0))
		for rest := want; len(rest) > 0; rest = rest[size:] {
			mustWait(t, l.Append(rest[:size]...))
		}
	}
	s = reopen(t, s, Options{})
	for i := range 2 {
		thread, err := s.Thread(MakeOrdinal(i, 0))
		if err != nil {
			t.Fatal(err)
		}
		var got []Record
		for n, st := range thread {
			if st.Position != n || st.Number != n || st.Attempt != 0 || st.Kind != want[n].kind() {
				t.Errorf("step %d: %+v", n, st)
			}
			r, err := st.Decode()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("session %d (-want +got):\n%s", i, d)
		}
	}
}

func TestRecordsAreNotChanged(t *testing.T) {
	zone := time.FixedZone("x", 3600)
	turn := &Turn{Entry: Entry{From: "gpt"}, At: testTime.In(zone)}
	if _, err := turn.appendPayload(nil); err != nil {
		t.Fatal(err)
	}
	if turn.At.Location() != zone {
		t.Error("encoding changed the caller's record")
	}
}

func TestEntryJSONOfSteps(t *testing.T) {
	s := newStore(t)
	register(t, s, 1)
	l := openLog(t, s, 0)
	mustWait(t, l.Append(start(), gpt("<a>"),
		&Result{Turn: 1, CallID: "c", Name: "calculator", Parts: []Part{{Type: "text", Text: "1\n"}, {Type: "image"}, {Type: "text", Text: "é"}}},
		&Rejected{Raw: []byte("x")}))
	thread, err := s.Thread(0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, st := range thread {
		entry, ok := st.EntryJSON()
		if ok != (len(entry) > 0) {
			t.Errorf("%s: %s, %v", st.Kind, entry, ok)
		}
		got = append(got, string(entry))
	}
	want := []string{"", `{"from":"gpt","value":"<a>"}`, `{"from":"tool","value":"1\n\né","tool_call_id":"c","name":"calculator"}`, ""}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestUsageAdd(t *testing.T) {
	known, unknown := Usage{PromptTokens: 1, Cost: 0.5, CostKnown: true}, Usage{PromptTokens: 2}
	for _, test := range []struct{ a, b, want Usage }{
		{Usage{}, Usage{}, Usage{}},
		{Usage{}, known, known},
		{known, Usage{}, known},
		{known, known, Usage{PromptTokens: 2, Cost: 1, CostKnown: true}},
		{known, unknown, Usage{PromptTokens: 3, Cost: 0.5}},
		{Usage{1, 2, 3, 4, 0, true}, Usage{10, 20, 30, 40, 1, true}, Usage{11, 22, 33, 44, 1, true}},
	} {
		if got := test.a.Add(test.b); got != test.want {
			t.Errorf("%+v + %+v = %+v, want %+v", test.a, test.b, got, test.want)
		}
	}
}

func FuzzPayload(f *testing.F) {
	for _, r := range everyRecord() {
		payload, err := r.appendPayload(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(payload)
		f.Add(payload[:len(payload)/2])
	}
	f.Add([]byte{})
	f.Add([]byte{3, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, payload []byte) {
		st := Step{payload: payload}
		if len(payload) > 0 {
			st.Kind = Kind(payload[0])
		}
		if _, ok := st.EntryJSON(); ok && st.Kind != KindTurn && st.Kind != KindResult {
			t.Errorf("%s has a message", st.Kind)
		}
		r, err := st.Decode()
		if err != nil {
			if !strings.Contains(err.Error(), ErrDamaged.Error()) {
				t.Error(err)
			}
			return
		}
		again, err := r.appendPayload(nil)
		if err != nil {
			t.Skip() // a year that no timestamp has
		}
		if _, err := parsePayload(again); err != nil {
			t.Errorf("%q was read, and not what it was written as: %v", payload, err)
		}
	})
}
