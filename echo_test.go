package main

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes-batch/db"
)

// echoes are how an endpoint gives back the key that it was sent. The key
// stands for %s.
var echoes = map[string]func(w http.ResponseWriter, key string){
	"refused": status(400, `{"error": {"message": "no such thing for %[1]s", "code": "%[1]s", "type": "%[1]s", "metadata": {"raw": "%[1]s", "headers": {"authorization": "%[1]s"}}}}`),
	"text":    status(400, `Authorization: %s`),
	"page":    status(403, `<html><title>%s</title>`),
	"trouble": status(503, `{"detail": [{"msg": "%s"}]}`),
	"redirect": func(w http.ResponseWriter, key string) {
		w.Header().Set("Location", "/?key="+url.QueryEscape(key))
		w.WriteHeader(302)
	},
	"answer":  status(200, `{"id": "%[1]s", "model": "%[1]s", "choices": [{"finish_reason": "%[1]s", "message": {"content": "%[1]s", "reasoning": "%[1]s"}}], "usage": {"%[1]s": 1}, "%[1]s": 0}`),
	"refusal": status(200, `{"choices": [{"message": {"refusal": "%s"}}]}`),
	"empty":   status(200, `{"choices": [], "debug": "%s"}`),
	"broken":  status(200, `{"choices": [{"message": "%s`),
	"calls": status(200, `{"choices": [{"message": {"content": "%[1]s", "reasoning": "r", "tool_calls": [`+
		`{"id": "%[1]s", "function": {"name": "%[1]s", "arguments": "{}"}},`+
		`{"id": "a", "function": {"name": "terminal", "arguments": "{\"command\": \"export K=%[1]s; echo $K >&2; cat /nothing/%[1]s; printf %%s $K > $K.txt; ls\"}"}},`+
		`{"id": "b", "function": {"name": "write_file", "arguments": "{\"path\": \"%[1]s/x\", \"content\": \"%[1]s\"}"}},`+
		`{"id": "c", "function": {"name": "search_files", "arguments": "{\"pattern\": \"sk-\"}"}},`+
		`{"id": "d", "function": {"name": "calculator", "arguments": "%[1]s"}}]}}]}`),
	// Longer than what is kept of an error, of a reply, of a message: a cut
	// must not leave a part of the key.
	"long error": func(w http.ResponseWriter, key string) { w.WriteHeader(400); repeat(w, key, 200<<10) },
	"long reply": func(w http.ResponseWriter, key string) {
		io.WriteString(w, strings.Repeat(" ", 64<<10-len(key)+2))
		repeat(w, key, 65<<20)
	},
	"long message": func(w http.ResponseWriter, key string) { w.WriteHeader(400); repeat(w, "\u200b\u202e"+key+" ", 3000) },
}

func status(code int, format string) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, key string) {
		w.WriteHeader(code)
		fmt.Fprintf(w, format, key)
	}
}

func repeat(w io.Writer, text string, size int) {
	for part := strings.Repeat(text, 1000); size > 0; size -= len(part) {
		if _, err := io.WriteString(w, part); err != nil {
			return
		}
	}
}

// TestEchoedKey lets an endpoint give the key back in every way. It stands in no
// file, no decoded record and nothing that is printed, not even a part of it.
func TestEchoedKey(t *testing.T) {
	for name, echo := range echoes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := "sk-canary-" + rand.Text()
			turns := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				sent := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
				if turns++; turns > 1 {
					echoes["answer"](w, sent)
					return
				}
				if sent != key {
					t.Errorf("sent was %q", sent)
				}
				echo(w, sent)
			}))
			defer server.Close()
			dir := t.TempDir()
			mustWriteFile(t, filepath.Join(dir, "p.jsonl"), []byte(`{"prompt": "hello"}`))
			said, _ := say(t, dir, false, "HERMES_BATCH_API_KEY="+key, []string{"--dataset_file=p.jsonl", "--batch_size=1", "--run_name=r", "--model=m", "--distribution=local",
				"--work_dir=work", "--keep_sandboxes=always", "--verbose", "--log_prefix_chars=2000", "--base_url=" + server.URL + "/v1"})
			status, _ := say(t, dir, false, "", []string{"status", "--run_name=r"})
			export, _ := say(t, dir, false, "", []string{"export", "--run_name=r", "--out=copy", "--keep_invalid_tools"})
			if turns == 0 {
				t.Fatalf("nothing was asked:\n%s", said)
			}
			stored := storedText(t, filepath.Join(dir, "data", "r", "run.db"))
			if !strings.Contains(said+stored, "[secret]") {
				t.Errorf("nothing was masked:\n%s", said)
			}
			for place, text := range map[string]string{"output": said, "status": status, "export": export, "store": stored} {
				showsNoKey(t, place, text, key)
			}
			noFileHolds(t, dir, key)
		})
	}
}

// showsNoKey fails for a key, and for most of one.
func showsNoKey(t *testing.T, place, text, key string) {
	t.Helper()
	for _, form := range []string{key[:len(key)-6], key[6:], base64.StdEncoding.EncodeToString([]byte(key))} {
		if at := strings.Index(text, form); at >= 0 {
			t.Errorf("the %s shows %q: …%q", place, form, text[max(0, at-60):min(len(text), at+60)])
		}
	}
}

// noFileHolds fails for files that hold the key, but for what the model wrote
// into its own work folder.
func noFileHolds(t *testing.T, dir, key string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		showsNoKey(t, path, path+string(data), key)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// storedText is all that the store of a run with one prompt holds, decoded.
func storedText(t *testing.T, path string) string {
	t.Helper()
	s, err := db.Open(path, db.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var all bytes.Buffer
	steps, err := s.Thread(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range steps {
		rec, err := st.Decode()
		if err != nil {
			t.Fatal(err)
		}
		switch r := rec.(type) {
		case *db.Turn:
			fmt.Fprintf(&all, "%s\n", r.Raw)
		case *db.Rejected:
			fmt.Fprintf(&all, "%s\n", r.Raw)
		case *db.Result:
			fmt.Fprintf(&all, "%+v\n", r.Shell)
			if _, err := s.WriteFull(&all, r); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Fprintf(&all, "%+v\n", rec)
	}
	out, _, err := s.Outcome(0)
	if err != nil {
		t.Fatal(err)
	}
	launches, err := s.Launches()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&all, "%+v\n%+v\n", out, launches)
	return all.String()
}
