package simulated

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestMarkersAreRead(t *testing.T) {
	for prompt, want := range map[string]string{
		"[empty] x":                 "map[empty:0] x",
		"a [slow 20] b [long 3]":    "map[long:3 slow:20] a  b",
		"[slow] [long x] [error ]":  "map[] [slow] [long x] [error ]",
		"[empty 3] [unknown] [[cut": "map[] [empty 3] [unknown] [[cut",
		"[[refuse]]":                "map[refuse:0] []",
		"[1, 2, 3] [long -1]":       "map[] [1, 2, 3] [long -1]",
		"":                          "map[] ",
	} {
		m := findMarks(prompt)
		if got := fmt.Sprint(m.numbers, " ", m.prompt); got != want {
			t.Errorf("%q: %s, want %s", prompt, got, want)
		}
	}
}

func TestEachMarkerIsListedOnce(t *testing.T) {
	if len(Markers()) != len(known) {
		t.Errorf("%d forms, %d names", len(Markers()), len(known))
	}
	for _, m := range Markers() {
		if !strings.HasPrefix(m.Form, "[") || m.Effect == "" {
			t.Errorf("%+v", m)
		}
	}
}

func TestMarkersBendTheConversation(t *testing.T) {
	for _, c := range []struct{ prompt, calls, finish, answer string }{
		{"[unknown-tool] What is 6 * 7?", "consult_oracle, calculator", "stop", "= 42"},
		{"[bad-arguments] What is 6 * 7?", "terminal, calculator", "stop", "= 42"},
		{"[parallel] What is 6 * 7?", "terminal calculator terminal, calculator", "stop", "= 42"},
		{"[empty-first] What is 6 * 7?", "calculator", "stop", "= 42"},
		{"[unknown-tool-loop] x", "consult_oracle, consult_oracle, consult_oracle, consult_oracle", "tool_calls", ""},
		{"[max-turns] x", "terminal, calculator, terminal, calculator", "tool_calls", ""},
		{"[refuse] x", "", "content_filter", ""},
		{"[cut] What is 6 * 7?", "calculator", "length", "6 * "},
		{"[long 1000] What is 6 * 7?", "calculator", "stop", "This sentence"},
		{"[reasoning-only] x", "", "stop", ""},
		{"[no-reasoning] [parallel] What is 6 * 7?", "terminal calculator terminal, calculator", "stop", "= 42"},
	} {
		talk := converse(t, c.prompt, allTools...).run(4)
		last := len(talk.replies) - 1
		if talk.calls() != c.calls || talk.finishes[last] != c.finish || !strings.Contains(talk.answer(), c.answer) {
			t.Errorf("%s: calls %q, finish %s, answer %q", c.prompt, talk.calls(), talk.finishes[last], talk.answer())
		}
		for i, m := range talk.replies {
			if silent := strings.Contains(c.prompt, "[no-reasoning]"); silent && (m.Reasoning != "" || talk.usages[i].Details.Reasoning != 0) {
				t.Errorf("%s: reasoning %q", c.prompt, m.Reasoning)
			}
		}
		if strings.HasPrefix(c.prompt, "[refuse]") != (talk.replies[last].Refusal != "") {
			t.Errorf("%s: refusal %q", c.prompt, talk.replies[last].Refusal)
		}
		if strings.HasPrefix(c.prompt, "[long") && len(talk.answer()) != 1000 {
			t.Errorf("%s: %d bytes", c.prompt, len(talk.answer()))
		}
		if strings.HasPrefix(c.prompt, "[reasoning-only]") && talk.replies[last].Reasoning == "" {
			t.Errorf("%s: no reasoning", c.prompt)
		}
	}
}

func TestEmptyRepliesAreEmpty(t *testing.T) {
	client := &http.Client{Transport: Transport(newServer(t, Options{}))}
	empty := func(prompt string) bool {
		_, reply := post(t, client, []byte(ask(prompt, offered)))
		return strings.Contains(string(reply), `"message":{"role":"assistant","content":null}`)
	}
	for _, prompt := range []string{"[empty-first] x", "[empty] x"} {
		var got []bool
		for range 3 {
			got = append(got, empty(prompt))
		}
		if want := map[bool]string{true: "[true true true]", false: "[true false true]"}[prompt == "[empty] x"]; fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", prompt, got, want)
		}
	}
}

func TestErrorMarkers(t *testing.T) {
	client := &http.Client{Transport: Transport(newServer(t, Options{}))}
	for n, want := range map[int]int{400: 400, 404: 404, 429: 429, 503: 503, 200: 200, 700: 200} {
		if status, reply := post(t, client, []byte(ask(fmt.Sprintf("[error %d] x", n), ""))); status != want {
			t.Errorf("[error %d]: status %d, %s", n, status, reply)
		}
	}
}

func TestSlowMarkerTakesItsTime(t *testing.T) {
	client := &http.Client{Transport: Transport(newServer(t, Options{}))}
	begin := time.Now()
	post(t, client, []byte(ask("[slow 30] x", "")))
	if took := time.Since(begin); took < 30*time.Millisecond {
		t.Errorf("took %v", took)
	}
	for prompt, want := range map[string]time.Duration{"[slow 5] x": 5 * time.Millisecond, "[slow 99999999999] x": time.Hour, "x": 0} {
		if got := findMarks(prompt).delay(); got != want {
			t.Errorf("%s: %v", prompt, got)
		}
	}
}
