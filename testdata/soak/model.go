package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"hermes-batch/engine/simulated"
)

// model answers without fault: prompts that the embedded model understands by
// that, the others as their script says.
type model struct {
	deal     *dealer
	embedded http.Handler
}

func newModel(d *dealer) (*model, error) {
	embedded, err := simulated.New(simulated.Options{})
	return &model{d, embedded}, err
}

// asked is what a request asks for: the turn after so many of one prompt.
type asked struct {
	number, turn int
	results      []string // of its calls
	size         int      // of the request, in bytes
	body         []byte
}

func read(r *http.Request) (*asked, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var request struct {
		Messages []struct {
			Role    string `json:"role"`
			Content any    `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	a := &asked{number: -1, size: len(body), body: body}
	for _, m := range request.Messages {
		text, _ := m.Content.(string)
		switch {
		case m.Role == "user" && a.number < 0:
			a.number = numberOf(text)
		case m.Role == "assistant":
			a.turn++
		case m.Role == "tool":
			a.results = append(a.results, text)
		}
	}
	return a, nil
}

// reply is an answer on its way.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (m *model) reply(r *http.Request, a *asked) reply {
	if k := m.deal.kind(a.number); k.turns != nil {
		return reply{http.StatusOK, http.Header{"Content-Type": {"application/json"}}, k.play(a)}
	}
	w := httptest.NewRecorder()
	r.Body = io.NopCloser(bytes.NewReader(a.body))
	m.embedded.ServeHTTP(w, r)
	return reply{w.Code, w.Header(), w.Body.Bytes()}
}

// calls tells whether the reply asks for tools.
func (p reply) calls() bool { return strings.Contains(string(p.body), `"tool_calls":[`) }

// raw is the reply as it goes over the wire.
func (p reply) raw() []byte {
	res := http.Response{StatusCode: p.status, ProtoMajor: 1, ProtoMinor: 1, Header: p.header,
		Body: io.NopCloser(bytes.NewReader(p.body)), ContentLength: int64(len(p.body))}
	var out bytes.Buffer
	if err := res.Write(&out); err != nil {
		panic(err) // the buffer takes all
	}
	return out.Bytes()
}
