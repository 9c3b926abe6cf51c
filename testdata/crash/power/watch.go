package power

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The phases that states are counted by.
const (
	phaseCreate = "create"
	phaseIngest = "ingest"
	phaseRun    = "run"
	phaseRender = "render"
	phaseResume = "resume"
	phaseExport = "export"
)

var phases = []string{phaseCreate, phaseIngest, phaseRun, phaseRender, phaseResume, phaseExport}

// ack is a promise that somebody outside could see: from that line on a power
// cut must leave what it says.
type ack struct {
	line  int
	phase string
	what  string
	store *node
	need  func(*facts) error // nil: nothing of the store
	files bool               // all files rendered so far are in their places

	prompt string // that was asked about, after so many turns
	turns  int
}

// watcher sees what one call of the program lets the outside know.
type watcher struct {
	r       *recording
	in      invocation
	phase   string
	first   int             // stores that were there before
	began   map[string]bool // prompts that were asked for
	asked   bool            // it turned to the model
	pending bool            // a rendered file has a change that no folder was synced after
	summary bool            // something was printed to stdout
	log     string          // of stderr, the line that is not whole yet
}

func newWatcher(r *recording, in invocation) *watcher {
	return &watcher{r: r, in: in, phase: in.Phase, first: len(r.stores), began: map[string]bool{}}
}

// store is the store that the program works on.
func (w *watcher) store() *node {
	if len(w.r.stores) == 0 || w.in.Phase == phaseCreate && len(w.r.stores) == w.first {
		return nil
	}
	return w.r.stores[len(w.r.stores)-1]
}

func (w *watcher) ack(line int, what string, need func(*facts) error) {
	w.r.acks = append(w.r.acks, ack{line: line, phase: w.phase, what: what, store: w.store(), need: need})
}

// phaseOf is the phase of an operation on that path.
func (w *watcher) phaseOf(path string) string {
	base := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "."), ".tmp")
	switch {
	case w.phase == phaseExport:
		return phaseExport
	case filepath.Ext(base) == "" || base == storeName || base == lockName: // folders have no extension
		if w.pending && filepath.Ext(base) == "" {
			return phaseRender
		}
		return w.phase
	}
	w.pending = true
	return phaseRender
}

// synced moves from creation to registration once the store is durable.
func (w *watcher) synced(path string) {
	if filepath.Ext(path) == "" {
		w.pending = false
	}
	if w.phase == phaseCreate && w.store() != nil {
		w.phase = phaseIngest
	}
}

// printed sees what is written to the terminal: the summary, outcomes that are
// told at once, and progress.
func (w *watcher) printed(line, fd int, text string) {
	if fd == 1 {
		if !w.summary {
			w.summary = true
			w.settled(line, "the summary was printed")
		}
		return
	}
	for w.log += text; ; {
		whole, rest, ok := strings.Cut(w.log, "\n")
		if !ok {
			return
		}
		w.told(line, whole)
		w.log = rest
	}
}

var (
	failedLine   = regexp.MustCompile(`prompt failed prompt=(\d+)`)
	progressLine = regexp.MustCompile(`^(\d+)/(\d+) prompts`)
)

func (w *watcher) told(line int, text string) {
	if m := failedLine.FindStringSubmatch(text); m != nil {
		w.ack(line, "it was told that prompt "+m[1]+" failed", hasOutcome(number(m[1])))
	}
	if m := progressLine.FindStringSubmatch(text); m != nil {
		n := number(m[1])
		w.ack(line, fmt.Sprintf("%d prompts were told to be done", n), hasOutcomes(n))
	}
}

// settled notes that everything so far was told to be there.
func (w *watcher) settled(line int, what string) {
	a := ack{line: line, phase: w.phase, what: what, store: w.store(), files: true}
	if w.in.Complete {
		a.need = hasOutcomes(w.in.Rows)
	}
	w.r.acks = append(w.r.acks, a)
}

func (w *watcher) exited(line int, code int64) {
	w.settled(line, fmt.Sprintf("the program ended with code %d", code))
}

var (
	callFile   = regexp.MustCompile(`/(\d+)-0-a\d+/calls/(\d+)-(\d+)-(\d+)$`)
	workFolder = regexp.MustCompile(`/(\d+)-0-a\d+$`)
)

// created sees the beginning of tool calls, each of which has a file.
func (w *watcher) created(line int, path string) {
	if m := callFile.FindStringSubmatch(path); m != nil {
		prompt, attempt, step, n := number(m[1]), number(m[2]), number(m[3]), number(m[4])
		w.ack(line, fmt.Sprintf("call %d of attempt %d step %d of prompt %d began", n, attempt, step, prompt), hasCall(prompt, attempt, step, n))
	}
}

// removed sees the end of sandboxes.
func (w *watcher) removed(c *call, path string) {
	if m := workFolder.FindStringSubmatch(path); m != nil && (c.name == "unlinkat" || c.name == "rmdir") {
		w.ack(c.enter, "the sandbox of prompt "+m[1]+" was removed", hasOutcome(number(m[1])))
	}
}

// connected sees the program turn to the model: what it works on is registered.
func (w *watcher) connected(line int) {
	if w.asked {
		return
	}
	w.asked = true
	if w.phase == phaseIngest {
		w.phase = phaseRun
	}
	w.ack(line, "the model was called", isPlanned(w.in.Rows))
}

// request sees a request to the model, from its first byte on.
func (w *watcher) request(line int, body []byte) error {
	text, turns, err := parseRequest(body)
	if err != nil {
		return err
	}
	if !w.began[text] {
		w.began[text] = true
		if over := len(w.began) - w.in.Workers; w.in.Phase == phaseCreate && over > 0 {
			w.ack(line, fmt.Sprintf("prompt number %d was begun by %d workers", len(w.began), w.in.Workers), hasOutcomes(over))
		}
	}
	if len(turns) > 0 {
		w.ack(line, fmt.Sprintf("turn %d of %.60q was followed up", len(turns), text), hasTurns(text, turns))
		a := &w.r.acks[len(w.r.acks)-1]
		a.prompt, a.turns = text, len(turns)
	}
	return nil
}

// parseRequest returns the prompt of a request and its model turns.
func parseRequest(body []byte) (prompt string, turns []string, err error) {
	var r struct {
		Messages []struct {
			Role, Content string
			ToolCalls     []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return "", nil, fmt.Errorf("a request: %w", err)
	}
	for _, m := range r.Messages {
		switch m.Role {
		case "user":
			if prompt == "" {
				prompt = m.Content
			}
		case "assistant":
			turn := m.Content
			for _, c := range m.ToolCalls {
				turn += fmt.Sprintf("\n%s %s %s", c.ID, c.Function.Name, c.Function.Arguments)
			}
			turns = append(turns, turn)
		}
	}
	return prompt, turns, nil
}

func number(text string) int {
	n, _ := strconv.Atoi(text) // of digits only
	return n
}

// stream is what the program sends over a connection.
type stream struct {
	w     *watcher
	rest  []byte
	since int // line in which the first byte of rest was written
}

func (w *watcher) stream() *stream { return &stream{w: w} }

var contentLength = regexp.MustCompile(`(?i)\r\nContent-Length: (\d+)\r\n`)

// write takes bytes, and reads requests out of them as they get whole.
func (s *stream) write(line int, data []byte) error {
	if len(s.rest) == 0 {
		s.since = line
	}
	s.rest = append(s.rest, data...)
	for {
		if !slices.Equal(s.rest[:min(5, len(s.rest))], []byte("POST ")) {
			s.rest = s.rest[:0] // no request
			return nil
		}
		head := strings.Index(string(s.rest), "\r\n\r\n") + 4
		if head < 4 {
			return nil
		}
		m := contentLength.FindSubmatch(s.rest[:head])
		if m == nil {
			return fmt.Errorf("a request without a length: %.200q", s.rest)
		}
		size := number(string(m[1]))
		if len(s.rest) < head+size {
			return nil
		}
		if err := s.w.request(s.since, s.rest[head:head+size]); err != nil {
			return err
		}
		s.rest, s.since = s.rest[head+size:], line
	}
}
