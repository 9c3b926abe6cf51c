package simulated

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

const chatURL = "http://simulated/v1/chat/completions"

func ask(prompt string, more string) string {
	return fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%s}]%s}`, quoteJSON(prompt), more)
}

const offered = `,"tools":[{"type":"function","function":{"name":"calculator","parameters":{"type":"object"}}}]`

func TestSocketAndTransportGiveTheSameBytes(t *testing.T) {
	server := newServer(t, Options{Stats: true})
	web := httptest.NewServer(server)
	defer web.Close()
	inside := &http.Client{Transport: Transport(newServer(t, Options{Stats: true}))}
	for name, c := range map[string]struct{ method, path, body string }{
		"tool call": {"POST", "/v1/chat/completions", ask("What is 17 * 23?", offered)},
		"answer":    {"POST", "/v1/chat/completions", ask("Hello & <welcome>", "")},
		"stream":    {"POST", "/v1/chat/completions", ask("What is 17 * 23?", offered+`,"stream":true,"stream_options":{"include_usage":true}`)},
		"no JSON":   {"POST", "/v1/chat/completions", "{"},
		"error":     {"POST", "/v1/chat/completions", ask("[error 404] x", "")},
		"empty":     {"POST", "/v1/chat/completions", ask("[empty] x", "")},
		"models":    {"GET", "/v1/models", ""},
		"no page":   {"GET", "/v1/nothing", ""},
		"no method": {"GET", "/v1/chat/completions", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := exchange(t, web.Client(), c.method, web.URL+c.path, c.body)
			b := exchange(t, inside, c.method, "http://simulated"+c.path, c.body)
			if a != b {
				t.Errorf("socket: %s\nin process: %s", a, b)
			}
		})
	}
}

// exchange returns status, type and body of a response as one text.
func exchange(t *testing.T, client *http.Client, method, url, body string) string {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %s %d %s", resp.Status, resp.Header.Get("Content-Type"), resp.ContentLength, data)
}

func TestReplyHasTheShapeOfTheInterface(t *testing.T) {
	client := &http.Client{Transport: Transport(newServer(t, Options{}))}
	status, body := post(t, client, []byte(ask("What is 17 * 23?", offered)))
	var reply completion
	if err := json.Unmarshal(body, &reply); err != nil || status != http.StatusOK {
		t.Fatal(status, err)
	}
	m := reply.Choices[0].Message
	switch {
	case reply.Model != Model, reply.Object != "chat.completion", !strings.HasPrefix(reply.ID, "chatcmpl-"):
		t.Errorf("head: %s", body)
	case m.Content != nil, m.Reasoning == "", len(m.ToolCalls) != 1, reply.Choices[0].Finish != "tool_calls":
		t.Errorf("message: %s", body)
	case reply.Usage.Prompt < 1, reply.Usage.Details.Reasoning < 1, reply.Usage.Completion <= reply.Usage.Details.Reasoning,
		reply.Usage.Total != reply.Usage.Prompt+reply.Usage.Completion:
		t.Errorf("usage: %s", body)
	}
}

func TestStreamHoldsTheWholeReply(t *testing.T) {
	client := &http.Client{Transport: Transport(newServer(t, Options{}))}
	_, plain := post(t, client, []byte(ask("What is 17 * 23 and 4 + 4?", offered)))
	_, events := post(t, client, []byte(ask("What is 17 * 23 and 4 + 4?", offered+`,"stream":true,"stream_options":{"include_usage":true}`)))
	var want completion
	if err := json.Unmarshal(plain, &want); err != nil {
		t.Fatal(err)
	}
	var got spoken
	var finish string
	var counted usage
	lines := strings.Split(strings.TrimSpace(string(events)), "\n\n")
	for _, line := range lines[:len(lines)-1] {
		var c chunk
		if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &c); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if c.Usage != nil {
			counted = *c.Usage
			continue
		}
		got.Reasoning += c.Choices[0].Delta.Reasoning
		for _, call := range c.Choices[0].Delta.ToolCalls {
			got.ToolCalls = append(got.ToolCalls, call.toolCall)
		}
		if c.Choices[0].Finish != nil {
			finish = *c.Choices[0].Finish
		}
	}
	if lines[len(lines)-1] != "data: [DONE]" || finish != "tool_calls" || counted.Prompt == 0 || counted.Completion != want.Usage.Completion {
		t.Errorf("end of the stream: %s", events)
	}
	if m := want.Choices[0].Message; got.Reasoning != m.Reasoning || len(got.ToolCalls) != 2 || got.ToolCalls[1] != m.ToolCalls[1] {
		t.Errorf("stream %+v, plain %+v", got, m)
	}
}

func TestRepliesDependOnTheRequestAlone(t *testing.T) {
	rows, _ := demoRows(t)
	for _, r := range rows {
		prompt := r.Prompt.(string)
		if strings.Contains(prompt, "[empty-first]") {
			continue
		}
		a, b := converse(t, prompt, allTools...).can().run(6), converse(t, prompt, allTools...).can().run(6)
		for i := range a.replies {
			if x, y := encode(a.replies[i]), encode(b.replies[i]); !bytes.Equal(x, y) {
				t.Errorf("%s: %s and %s", firstLine(prompt, 40), x, y)
			}
		}
	}
}

func TestIdsDoNotRepeatWithinAConversation(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range converse(t, "[max-turns] [parallel] Count.", allTools...).run(20).replies {
		for _, call := range m.ToolCalls {
			if seen[call.ID] {
				t.Errorf("%s again", call.ID)
			}
			seen[call.ID] = true
		}
	}
	if len(seen) != 20 {
		t.Errorf("%d ids", len(seen))
	}
}

func TestManyConversationsAtOnce(t *testing.T) {
	server := newServer(t, Options{Latency: time.Millisecond, Jitter: time.Millisecond, Fail: 0.2, Stats: true})
	client := &http.Client{Transport: Transport(server)}
	var wg sync.WaitGroup
	const conversations, workers = 96, 32
	next := make(chan int)
	for range workers {
		wg.Go(func() {
			for i := range next {
				sum(t, client, i)
			}
		})
	}
	for i := range conversations {
		next <- i
	}
	close(next)
	wg.Wait()
	st := server.Stats()
	switch {
	case st.DistinctTurns != 2*conversations, st.AnsweredTwice != 0, st.Answered != 2*conversations:
		t.Errorf("turns: %+v", st)
	case st.MaxInFlight > workers, st.MaxInFlight < 2, st.InFlight != 0:
		t.Errorf("in flight: %+v", st)
	case st.Failed == 0, st.Requests != st.Answered+st.Failed:
		t.Errorf("failures: %+v", st)
	}
	if n := len(server.attempts.failed); n != 0 {
		t.Errorf("%d turns are still remembered", n)
	}
}

// sum has a conversation of two turns, trying failed requests again.
func sum(t *testing.T, client *http.Client, i int) {
	body := ask(fmt.Sprintf("What is %d + 1?", i), offered)
	first := persist(t, client, body)
	if len(first.Choices[0].Message.ToolCalls) != 1 {
		t.Errorf("no call: %+v", first)
		return
	}
	call := first.Choices[0].Message.ToolCalls[0]
	rest := fmt.Sprintf(`,{"role":"assistant","content":null,"tool_calls":%s},{"role":"tool","tool_call_id":%q,"content":"{\"result\":\"%d\"}"}]`,
		encode([]toolCall{call}), call.ID, i+1)
	last := persist(t, client, strings.Replace(body, "}]", "}"+rest, 1))
	if c := last.Choices[0].Message.Content; c == nil || !strings.HasSuffix(*c, fmt.Sprintf("= %d", i+1)) {
		t.Errorf("answer %+v", last)
	}
}

func persist(t *testing.T, client *http.Client, body string) (reply completion) {
	for range 50 {
		resp, err := client.Post(chatURL, "application/json", strings.NewReader(body))
		if err != nil {
			if !errors.Is(err, ErrReset) {
				t.Error(err)
			}
			continue
		}
		err = json.NewDecoder(resp.Body).Decode(&reply)
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK && err == nil {
			return reply
		}
	}
	t.Error("50 failures in a row")
	return completion{Choices: []choice{{}}}
}

func TestCancelledRequestEndsAtOnce(t *testing.T) {
	server := newServer(t, Options{Latency: time.Hour, Stats: true})
	web := httptest.NewServer(server)
	defer web.Close()
	for name, c := range map[string]struct {
		client *http.Client
		url    string
	}{"in process": {&http.Client{Transport: Transport(server)}, chatURL}, "socket": {web.Client(), web.URL + "/v1/chat/completions"}} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(ask("x", "")))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.client.Do(req)
			if err == nil {
				resp.Body.Close()
			}
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestResetBreaksTheConnection(t *testing.T) {
	server := newServer(t, Options{Fail: 1, Stats: true})
	web := httptest.NewServer(server)
	defer web.Close()
	resets := 0
	for i := range 20 {
		resp, err := web.Client().Post(web.URL+"/v1/chat/completions", "application/json", strings.NewReader(ask(fmt.Sprint(i), "")))
		if err != nil {
			resets++
			continue
		}
		if resp.Body.Close(); resp.StatusCode != http.StatusInternalServerError {
			t.Errorf("status %d", resp.StatusCode)
		}
	}
	if resets == 0 || resets == 20 {
		t.Errorf("%d resets of 20", resets)
	}
	if st := server.Stats(); st.Failed != 20 || st.Answered != 0 {
		t.Errorf("stats %+v", st)
	}
}

func TestOtherPanicsReachTheCaller(t *testing.T) {
	client := &http.Client{Transport: Transport(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oh") }))}
	defer func() {
		if recover() != "oh" {
			t.Error("the panic was lost")
		}
	}()
	_, _ = client.Get("http://simulated/")
}

func TestStatsAreServedOnlyWhenWanted(t *testing.T) {
	for _, on := range []bool{false, true} {
		server := newServer(t, Options{Stats: on})
		client := &http.Client{Transport: Transport(server)}
		for range 2 {
			post(t, client, []byte(ask("Hello", "")))
		}
		text := exchange(t, client, http.MethodGet, "http://simulated/stats", "")
		if strings.HasPrefix(text, "200") != on || strings.Contains(text, `"answered_twice":1`) != on {
			t.Errorf("stats %v: %s", on, text)
		}
		if on != (server.Stats().Requests == 2) {
			t.Errorf("stats %v: %+v", on, server.Stats())
		}
	}
}
