package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes-batch/db"
	"hermes-batch/tools/sandbox"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.SuperviseArg {
		os.Exit(sandbox.Supervise())
	}
	os.Exit(m.Run())
}

// ask is one request as the scripted model sees it.
type ask struct {
	Model    string
	Prompt   string // text of the last user message
	Turn     int    // assistant messages after it
	Results  []string
	Messages []struct {
		Role, Content string
	}
	Tools []struct {
		Function struct{ Name string }
	}
	Body string
}

// script is a model that follows a function. It counts what it answered.
type script struct {
	*httptest.Server
	mu       sync.Mutex
	reply    func(ask) (status int, body string)
	asked    map[string]int // by prompt and turn
	answered map[string]int
	requests int
	bodies   []string
}

func newScript(t *testing.T, reply func(ask) (int, string)) *script {
	s := &script{reply: reply, asked: map[string]int{}, answered: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Server.Close)
	return s
}

func (s *script) serve(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	a := ask{Body: string(raw)}
	if err := json.Unmarshal(raw, &a); err != nil {
		http.Error(w, err.Error(), 400)
		return
	}
	for _, m := range a.Messages {
		switch m.Role {
		case "user":
			a.Prompt, a.Turn, a.Results = m.Content, 0, nil
		case "assistant":
			a.Turn++
		case "tool":
			a.Results = append(a.Results, m.Content)
		}
	}
	key := fmt.Sprintf("%s/%d", a.Prompt, a.Turn)
	s.mu.Lock()
	s.requests++
	s.asked[key]++
	s.bodies = append(s.bodies, a.Body)
	s.mu.Unlock()
	status, body := s.reply(a)
	s.mu.Lock()
	if status == 200 {
		s.answered[key]++
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, body)
}

func (s *script) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
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

func message(m map[string]any, finish string) string {
	raw, _ := json.Marshal(map[string]any{"id": "r", "object": "chat.completion", "model": "m",
		"choices": []any{map[string]any{"index": 0, "message": m, "finish_reason": finish}},
		"usage":   map[string]any{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}})
	return string(raw)
}

// bench is a folder in which runs are made against a scripted model.
type bench struct {
	t     *testing.T
	dir   string
	model *script
}

func newBench(t *testing.T, reply func(ask) (int, string)) *bench {
	t.Chdir(t.TempDir())
	return &bench{t: t, dir: ".", model: newScript(t, reply)}
}

func (b *bench) dataset(lines ...string) {
	b.t.Helper()
	if err := os.WriteFile("data.jsonl", []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) options(change ...func(*Options)) *Options {
	o := testOptions()
	o.BaseURL = b.model.URL + "/v1"
	for _, c := range change {
		c(o)
	}
	return o
}

func testOptions() *Options {
	o := &Options{}
	fs := newFlagSet()
	o.Register(fs)
	o.DatasetFile, o.BatchSize, o.RunName, o.Model, o.Distribution = "data.jsonl", 2, "r", "m", "local"
	o.WorkDir, o.ShutdownGrace = "state", 200*time.Millisecond
	return o
}

// run makes a whole run and returns its error.
func (b *bench) run(ctx context.Context, change ...func(*Options)) error {
	b.t.Helper()
	return b.runWith(ctx, Deps{}, change...)
}

func (b *bench) runWith(ctx context.Context, deps Deps, change ...func(*Options)) error {
	b.t.Helper()
	o := b.options(change...)
	folder, err := o.Folder()
	if err != nil {
		return err
	}
	store, err := folder.Find(o, db.Options{})
	if err != nil {
		return err
	}
	r, err := Start(ctx, o, folder, store, deps)
	if err != nil {
		return err
	}
	end := r.Work(ctx)
	return errors.Join(end, r.Close(end))
}

// ends reads how every prompt ended, by index: "end/reason".
func (b *bench) ends() map[int]string {
	b.t.Helper()
	ends := map[int]string{}
	b.read(func(s *db.Store) {
		err := s.Outcomes(0, func(o db.Ordinal, out db.Outcome) error {
			ends[o.Index()] = out.End + "/" + out.Reason
			return nil
		})
		if err != nil {
			b.t.Fatal(err)
		}
	})
	return ends
}

func (b *bench) read(fn func(*db.Store)) {
	b.t.Helper()
	s, err := db.Open(filepath.Join("data", "r", "run.db"), db.Options{ReadOnly: true})
	if err != nil {
		b.t.Fatal(err)
	}
	defer s.Close()
	fn(s)
}

// talk is a prompt's conversation, one line an entry.
func (b *bench) talk(index int) []string {
	b.t.Helper()
	var lines []string
	b.read(func(s *db.Store) {
		thread, err := s.Thread(db.MakeOrdinal(index, 0))
		if err != nil {
			b.t.Fatal(err)
		}
		for _, st := range thread {
			if raw, ok := st.EntryJSON(); ok {
				lines = append(lines, string(raw))
			}
		}
	})
	return lines
}

func resume(o *Options) { o.Resume = true }
