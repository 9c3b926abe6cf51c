package simulated

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestRequestsAreRead(t *testing.T) {
	const call = `{"role":"assistant","content":null,"tool_calls":[{"id":"a"},{"id":"b"}]}`
	for name, c := range map[string]struct{ messages, want string }{
		"one message":       {`{"role":"user","content":"hi"}`, `"hi" 0 []`},
		"parts":             {`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"},{"type":"text","text":"b"}]}`, `"ab" 0 []`},
		"examples before":   {`{"role":"user","content":"x"},{"role":"assistant","content":"y"},{"role":"user","content":"hi"}`, `"hi" 0 []`},
		"system":            {`{"role":"system","content":"be nice"},{"role":"user","content":"hi"}`, `"hi" 0 []`},
		"results by id":     {`{"role":"user","content":"hi"},` + call + `,{"role":"tool","tool_call_id":"b","content":"2"},{"role":"tool","tool_call_id":"a","content":"1"}`, `"hi" 1 [[1 2]]`},
		"results in order":  {`{"role":"user","content":"hi"},` + call + `,{"role":"tool","content":"1"},{"role":"tool","tool_call_id":"z","content":"2"},{"role":"tool","content":"3"}`, `"hi" 1 [[1 2]]`},
		"missing result":    {`{"role":"user","content":"hi"},` + call + `,{"role":"tool","tool_call_id":"b","content":"2"}`, `"hi" 1 [[ 2]]`},
		"stray result":      {`{"role":"tool","content":"1"},{"role":"user","content":"hi"}`, `"hi" 0 []`},
		"call to go on":     {`{"role":"user","content":"hi"},{"role":"assistant","content":"a"},{"role":"user","content":"Continue."}`, `"hi" 1 []`},
		"long call":         {`{"role":"user","content":"hi"},{"role":"assistant","content":"a"},{"role":"user","content":"Please continue exactly where you left off."}`, `"hi" 1 []`},
		"call of a runner":  {`{"role":"user","content":"hi"},{"role":"assistant","content":"a"},{"role":"user","content":"Your answer was cut off by the length limit. Go on exactly where it stopped, without repeating anything."}`, `"hi" 1 []`},
		"prompt to go on":   {`{"role":"user","content":"Continue."}`, `"Continue." 0 []`},
		"no user":           {`{"role":"system","content":"x"}`, `"" 0 []`},
		"surrogate":         {`{"role":"user","content":"\ud83d!"}`, "\"\uFFFD!\" 0 []"},
		"null and unknowns": {`{"role":"user","content":null,"name":3,"x":{}},{"role":"robot","content":"y"}`, `"" 0 []`},
	} {
		r, err := decodeRequest([]byte(`{"messages":[` + c.messages + `],"temperature":0}`))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var results []any
		for _, p := range r.past {
			results = append(results, p.results)
		}
		if got := fmt.Sprintf("%q %d %v", r.prompt, r.turn, results); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	server := newServer(t, Options{Stats: true})
	client := &http.Client{Transport: Transport(server)}
	bodies := []string{"", "{", "[]", `"x"`, `{"messages":[]}`, `{"messages":{}}`, `{"messages":[{"role":1}]}`, `{}`}
	for _, body := range bodies {
		status, reply := post(t, client, []byte(body))
		if status != http.StatusBadRequest || !strings.Contains(string(reply), `"error":{"message":`) {
			t.Errorf("%q: status %d, %s", body, status, reply)
		}
	}
	if st := server.Stats(); st.BadRequests != int64(len(bodies)) || st.Requests != 0 {
		t.Errorf("stats %+v", st)
	}
}

func TestReasoningCanBeSwitchedOff(t *testing.T) {
	client := &http.Client{Transport: Transport(newServer(t, Options{}))}
	for more, want := range map[string]bool{
		"":                                     true,
		`,"reasoning":null`:                    true,
		`,"reasoning":{"enabled":true}`:        true,
		`,"reasoning":{"effort":"high"}`:       true,
		`,"reasoning":{"enabled":false}`:       false,
		`,"reasoning":{"effort":"none"}`:       false,
		`,"reasoning_effort":"none"`:           false,
		`,"reasoning_effort":"low","stop":"x"`: true,
	} {
		_, reply := post(t, client, []byte(ask("What is 1 + 1?", more)))
		if got := strings.Contains(string(reply), `"reasoning":`); got != want {
			t.Errorf("%s: %s", more, reply)
		}
		if got := strings.Contains(string(reply), `"reasoning_tokens":0`); got == want {
			t.Errorf("%s: %s", more, reply)
		}
	}
}

func FuzzDecodeRequest(f *testing.F) {
	f.Add([]byte(ask("What is 17 * 23?", offered+`,"stream":true`)))
	f.Add([]byte(`{"messages":[{"role":"user","content":["x",{"text":1}]},{"role":"assistant","tool_calls":[{}]},{"role":"tool","content":5}]}`))
	f.Add([]byte(`{"messages":null,"tools":[{"function":null}],"reasoning":{"enabled":null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeRequest(data)
		if err != nil {
			return
		}
		for _, p := range r.past {
			if len(p.ids) != len(p.results) {
				t.Fatalf("%d calls and %d results", len(p.ids), len(p.results))
			}
		}
		m := r.reply(r.key(), findMarks(r.prompt))
		if len(r.complete(r.key(), m).events(true)) == 0 {
			t.Fatal("no reply")
		}
	})
}
