package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"hermes-batch/engine/simulated"
)

// model is the embedded model behind a server that counts what it is asked and
// what it answers, turn by turn.
type model struct {
	url    string // with /v1
	server *httptest.Server
	inner  http.Handler

	mu       sync.Mutex
	asked    map[turn]int
	answered map[turn]int
	requests int
}

// turn is one reply of the model to one prompt: that after n earlier ones.
type turn struct {
	prompt string
	n      int
}

// faulty is that every so many turns the first try is refused.
const faulty = 7

func newModel(latency time.Duration) (*model, error) {
	inner, err := simulated.New(simulated.Options{Latency: latency, Jitter: 3 * latency})
	if err != nil {
		return nil, err
	}
	m := &model{inner: inner, asked: map[turn]int{}, answered: map[turn]int{}}
	m.server = httptest.NewServer(m)
	m.url = m.server.URL + "/v1"
	return m, nil
}

func (m *model) stop() { m.server.Close() }

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	t := turnOf(body)
	m.mu.Lock()
	m.requests++
	m.asked[t]++
	refuse := m.asked[t] == 1 && (len(t.prompt)+t.n)%faulty == 0
	m.mu.Unlock()
	if refuse {
		w.Header().Set("Retry-After-Ms", "5")
		http.Error(w, `{"error": {"message": "overloaded"}}`, http.StatusServiceUnavailable)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	m.inner.ServeHTTP(&watched{w, m, t}, r)
}

// watched notes whether a turn is answered. Where it is not, it asks for the
// next try at once, so that a prompt does not spend seconds on failing.
type watched struct {
	http.ResponseWriter
	model *model
	turn  turn
}

func (w *watched) WriteHeader(status int) {
	if status == http.StatusOK {
		w.model.mu.Lock()
		w.model.answered[w.turn]++
		w.model.mu.Unlock()
	} else {
		w.Header().Set("Retry-After-Ms", "1")
	}
	w.ResponseWriter.WriteHeader(status)
}

// turnOf tells what a request asks for.
func turnOf(body []byte) (t turn) {
	var request struct {
		Messages []struct {
			Role    string `json:"role"`
			Content any    `json:"content"`
		} `json:"messages"`
	}
	_ = json.Unmarshal(body, &request) // else it is the zero turn, which no prompt has
	for _, m := range request.Messages {
		switch text, _ := m.Content.(string); {
		case m.Role == "user" && t.prompt == "":
			t.prompt = text
		case m.Role == "assistant":
			t.n++
		}
	}
	return t
}

// times tells how often a turn was asked for.
func (m *model) times(t turn) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[t]
}

// furthest is the last turn of a prompt that was asked for, -1 if none was.
func (m *model) furthest(prompt string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := -1
	for t := range m.asked {
		if t.prompt == prompt {
			last = max(last, t.n)
		}
	}
	return last
}

// tally tells how many turns were answered, and how many answers were not the
// first one.
func (m *model) tally() (turns, again int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.answered {
		turns++
		again += n - 1
	}
	return turns, again
}

// total tells how many requests there were.
func (m *model) total() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests
}
