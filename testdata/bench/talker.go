package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"hermes-batch/db"
)

// talker is a model in this process whose nth turn is the same in all
// conversations. It keeps the bodies of the first request for each turn.
type talker struct {
	url      string
	replies  [][]byte
	answered atomic.Int64
	server   *http.Server

	mu     sync.Mutex
	bodies [][]byte
}

// startTalker starts a model whose turns are those.
func startTalker(turns []*db.Turn) (*talker, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &talker{url: "http://" + listener.Addr().String() + "/v1", bodies: make([][]byte, len(turns))}
	for _, turn := range turns {
		m.replies = append(m.replies, turn.Raw)
	}
	m.server = &http.Server{Handler: http.HandlerFunc(m.serve)}
	go m.server.Serve(listener) // until Close
	return m, nil
}

// countingTurns are turns of 4 KB that call the calculator, but for the last.
func countingTurns(n int) []*db.Turn {
	author, turns := newAuthor(3), make([]*db.Turn, n)
	for i := range turns {
		like := db.Turn{Finish: "tool_calls", Entry: db.Entry{ToolCalls: []db.ToolCall{
			{ID: fmt.Sprintf("call_%d", i), Name: "calculator", Arguments: fmt.Sprintf(`{"expression": "%d * 23"}`, i)}}}}
		if i == n-1 {
			like = db.Turn{Finish: "stop"}
		}
		turns[i] = author.retell(like, saidBytes, fmt.Sprintf("reply-%d", i))
	}
	return turns
}

func (m *talker) close() { m.server.Close() }

var spoken = []byte(`"role":"assistant"`)

func (m *talker) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	turn := bytes.Count(body, spoken)
	if err != nil || turn >= len(m.replies) {
		http.Error(w, fmt.Sprintf("turn %d, %v", turn, err), http.StatusBadRequest)
		return
	}
	m.answered.Add(1)
	m.mu.Lock()
	if m.bodies[turn] == nil {
		m.bodies[turn] = body
	}
	m.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(m.replies[turn])))
	_, _ = w.Write(m.replies[turn]) // a client that left is not told
}

// check tells whether a run asked for as much as its figures are about.
func (m *talker) check(turns int) error {
	if got := int(m.answered.Load()); got != turns {
		return fmt.Errorf("the model answered %d turns, where %d are due", got, turns)
	}
	return nil
}

// keep writes the bodies into a file, and tells their bytes.
func (m *talker) keep(dir string) (path string, size int64, err error) {
	path = filepath.Join(dir, "bodies.json")
	for _, body := range m.bodies {
		size += int64(len(body))
	}
	text, err := json.Marshal(m.bodies)
	if err != nil {
		return "", 0, err
	}
	return path, size, os.WriteFile(path, text, 0o644)
}
