package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// ask is one request as the scripted model sees it.
type ask struct {
	Model    string
	Prompt   string   // text of the last user message
	Turn     int      // assistant messages after it
	Results  []string // of the tools, after it
	Messages []sent
	Tools    []struct {
		Function struct{ Name string }
	}
	Body   string
	Header http.Header     // of the request
	Answer http.Header     // of the reply
	Gone   <-chan struct{} // closed when nobody waits for the reply any more
}

// sent is a message of a request.
type sent struct {
	Role       string
	Content    *string
	ToolCalls  []struct{ ID string } `json:"tool_calls"`
	ToolCallID string                `json:"tool_call_id"`
}

// script is a model that follows a function. It refuses conversations that a
// strict server would refuse, and counts what it was asked and answered.
type script struct {
	*httptest.Server
	t        *testing.T
	reply    func(ask) (status int, body string)
	mu       sync.Mutex
	asked    map[string]int // by prompt and turn
	answered map[string]int
	asks     []ask
}

func newScript(t *testing.T, reply func(ask) (int, string)) *script {
	s := &script{t: t, reply: reply, asked: map[string]int{}, answered: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Server.Close)
	return s
}

func (s *script) serve(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the other side was killed
	}
	a := ask{Body: string(raw), Header: r.Header, Answer: w.Header(), Gone: r.Context().Done()}
	if err := json.Unmarshal(raw, &a); err != nil {
		s.t.Errorf("request is no JSON: %v", err)
		return
	}
	if problem := malformed(a.Messages); problem != "" {
		s.t.Errorf("malformed conversation: %s\n%s", problem, raw)
	}
	for _, m := range a.Messages {
		switch m.Role {
		case "user":
			a.Prompt, a.Turn, a.Results = *m.Content, 0, nil
		case "assistant":
			a.Turn++
		case "tool":
			a.Results = append(a.Results, *m.Content)
		}
	}
	key := fmt.Sprintf("%s/%d", a.Prompt, a.Turn)
	s.mu.Lock()
	s.asked[key]++
	s.asks = append(s.asks, a)
	s.mu.Unlock()
	status, body := s.reply(a)
	if r.Context().Err() != nil {
		return // nobody waits any more
	}
	s.mu.Lock()
	if status == 200 {
		s.answered[key]++
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, body)
}

// malformed says what a strict server has against a conversation: content that
// is no string, or calls that do not have one result each, in order.
func malformed(messages []sent) string {
	var open []string
	for i, m := range messages {
		switch {
		case m.Content == nil:
			return fmt.Sprintf("message %d has no content", i)
		case m.Role == "tool" && (len(open) == 0 || open[0] != m.ToolCallID):
			return fmt.Sprintf("message %d answers %q, open are %q", i, m.ToolCallID, open)
		case m.Role == "tool":
			open = open[1:]
			continue
		case len(open) > 0:
			return fmt.Sprintf("message %d comes before the results of %q", i, open)
		}
		for _, c := range m.ToolCalls {
			if c.ID == "" || slices.Contains(open, c.ID) {
				return fmt.Sprintf("message %d has the call id %q", i, c.ID)
			}
			open = append(open, c.ID)
		}
	}
	return ""
}

// count is how many requests came.
func (s *script) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asks)
}

// since are the requests from number n on.
func (s *script) since(n int) []ask {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asks[n:])
}

// seen lists the prompts of the requests from number n on, sorted, each once.
func (s *script) seen(n int) (prompts []string) {
	for _, a := range s.since(n) {
		prompts = append(prompts, a.Prompt)
	}
	slices.Sort(prompts)
	return slices.Compact(prompts)
}

// timesAsked is how often a turn of a prompt was asked for.
func (s *script) timesAsked(prompt string, turn int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[fmt.Sprintf("%s/%d", prompt, turn)]
}

// wantCount compares the number of requests so far.
func (s *script) wantCount(want int) {
	s.t.Helper()
	if got := s.count(); got != want {
		s.t.Errorf("%d requests, want %d", got, want)
	}
}

// wantOnce fails for turns that were answered more than once.
func (s *script) wantOnce() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, n := range s.answered {
		if n > 1 {
			s.t.Errorf("turn %s was answered %d times", key, n)
		}
	}
}

// says is a reply with text and reasoning.
func says(text string) (int, string) {
	return 200, message(map[string]any{"role": "assistant", "content": text, "reasoning": "I think."}, "stop")
}

// calls is a reply that calls tools: name, arguments, name, arguments …
func calls(pairs ...string) (int, string) {
	var list []any
	for i := 0; i+1 < len(pairs); i += 2 {
		list = append(list, map[string]any{"id": fmt.Sprintf("c%d", i/2), "type": "function",
			"function": map[string]any{"name": pairs[i], "arguments": pairs[i+1]}})
	}
	return 200, message(map[string]any{"role": "assistant", "content": "", "reasoning": "I think.", "tool_calls": list}, "tool_calls")
}

// adds is a reply that calls the calculator.
func adds() (int, string) { return calls("calculator", `{"expression":"17*23"}`) }

// shell is a reply that calls the terminal.
func shell(command string) (int, string) {
	raw, _ := json.Marshal(map[string]string{"command": command})
	return calls("terminal", string(raw))
}

func message(m map[string]any, finish string) string {
	raw, _ := json.Marshal(map[string]any{"id": "r", "object": "chat.completion", "model": "m",
		"choices": []any{map[string]any{"index": 0, "message": m, "finish_reason": finish}},
		"usage":   map[string]any{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}})
	return string(raw)
}

// broken is an error as model servers report it.
func broken(status int, code string) (int, string) {
	raw, _ := json.Marshal(map[string]any{"error": map[string]any{"message": "scripted: " + code, "code": code}})
	return status, string(raw)
}
