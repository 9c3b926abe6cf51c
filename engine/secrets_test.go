package engine

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"hermes-batch/db"
)

const canary = `sk-canary/+=0123456789`

// forms are the ways in which a secret turns up.
func forms(secret string) []string {
	return []string{secret, fmt.Sprintf("%q", secret), url.QueryEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret)),
		base64.RawURLEncoding.EncodeToString([]byte(secret)), "0123456789"}
}

// A key that comes back in a tool's output, in a reply or in an error stands
// neither in the store nor in the log.
func TestSecretsAreMasked(t *testing.T) {
	var log logBuffer
	b := newBench(t, func(a ask) (int, string) {
		switch {
		case a.Prompt == "error":
			return 400, fmt.Sprintf(`{"error": {"message": %q, "code": "bad"}}`, "the key "+canary+" is wrong")
		case a.Prompt == "page":
			return 500, "<html><title>" + canary + "</title>"
		case a.Turn == 0:
			_, body := calls("terminal", fmt.Sprintf(`{"command": %q}`, "printf '%s\\n' '"+canary+"' > f; cat f; base64 -w0 f; export KEY='"+canary+"'"),
				"write_file", fmt.Sprintf(`{"path": "g", "content": %q}`, canary), "read_file", `{"path": "g"}`, "made_up", fmt.Sprintf(`{"x": %q}`, canary),
				"calculator", canary, canary, "{}")
			return 200, body
		case a.Turn == 1:
			return shell("echo $KEY; cat f; env")
		}
		return 200, message(map[string]any{"role": "assistant", "content": "it is " + strings.Join(forms(canary)[:5], " "), "reasoning": "I saw " + canary}, "stop")
	})
	b.deps.Log = log.logger()
	b.deps.Getenv = func(name string) string { return map[string]string{"OPENROUTER_API_KEY": "another-" + canary}[name] }
	b.prompts("talks", "error", "page")
	b.mustRun(func(o *Options) { o.APIKey, o.Verbose = canary, true })
	b.wantEnds(answered, "failed/bad_request/permanent", "failed/server/transient")
	for _, a := range b.model.since(0) {
		if a.Header.Get("Authorization") != "Bearer "+canary {
			t.Fatalf("the key is not used: %q", a.Header)
		}
	}
	var stored bytes.Buffer
	b.read(func(s *db.Store) {
		for index := range 3 {
			for _, rec := range records[db.Record](t, s, index) {
				fmt.Fprintf(&stored, "%+v\n", rec)
				switch r := rec.(type) {
				case *db.Turn:
					fmt.Fprintf(&stored, "%s\n", r.Raw)
				case *db.Rejected:
					fmt.Fprintf(&stored, "%s\n", r.Raw)
				case *db.Result:
					fmt.Fprintf(&stored, "%+v\n", r.Shell)
				}
			}
			fmt.Fprintf(&stored, "%+v\n%s\n", b.outcomeOf(s, index), talkOf(t, s, index))
		}
		launches, err := s.Launches()
		fmt.Fprintf(&stored, "%+v %v\n", launches, err)
	})
	raw, err := os.ReadFile(storeFile())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"store": stored.String(), "store file": string(raw), "log": log.String()} {
		for _, form := range forms(canary) {
			if at := strings.Index(text, form); at >= 0 {
				t.Errorf("the %s shows %q: …%q", name, form, text[max(0, at-60):min(len(text), at+60)])
			}
		}
		if name != "store file" && !masked(text) {
			t.Errorf("nothing is masked in the %s", name)
		}
	}
}

// masked tells whether a text shows that something was taken out of it, by the
// run or by the model client.
func masked(text string) bool {
	return strings.Contains(text, maskText) || strings.Contains(text, "[secret]")
}

func (b *bench) outcomeOf(s *db.Store, index int) db.Outcome {
	b.t.Helper()
	out, _, err := s.Outcome(db.MakeOrdinal(index, 0))
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// A refused key is not quoted where the run says why it stopped.
func TestRefusedKeyIsNotQuoted(t *testing.T) {
	b := newBench(t, func(a ask) (int, string) {
		return 401, fmt.Sprintf(`{"error": {"message": %q}}`, "Incorrect API key provided: "+canary)
	})
	b.prompts("a")
	err := b.run(context.Background(), func(o *Options) { o.APIKey = canary })
	if !stopped(err) || strings.Contains(err.Error(), "0123456789") {
		t.Errorf("error %v", err)
	}
	b.read(func(s *db.Store) {
		if last, _, err := s.LastLaunch(); err != nil || strings.Contains(last.End, "0123456789") || !masked(last.End) {
			t.Errorf("the session ended as %q (%v)", last.End, err)
		}
	})
}

func TestMissingKey(t *testing.T) {
	b := newBench(t, echoes)
	b.deps.Getenv = func(string) string { return "" }
	b.prompts("a")
	for url, variable := range map[string]string{
		"https://openrouter.ai/api/v1": "OPENROUTER_API_KEY", "https://inference-api.nousresearch.com/v1": "NOUS_API_KEY", "https://api.example.invalid/v1": "OPENAI_API_KEY",
	} {
		err := b.run(t.Context(), func(o *Options) { o.BaseURL = url })
		if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), variable) {
			t.Errorf("%s: %v", url, err)
		}
	}
	if there("data") {
		t.Error("a folder was made")
	}
}

func TestMask(t *testing.T) {
	const quoted = `sk-"quoted"-secret-"`
	m := newMask("short", canary, "", "plain-secret-1", quoted)
	for text, want := range map[string]string{
		"nothing here, short is short":                      "nothing here, short is short",
		canary:                                              maskText,
		"a" + canary + canary + "b":                         "a" + maskText + maskText + "b",
		`{"k":"sk-\"quoted\"-secret-\""}`:                   `{"k":"` + maskText + `"}`,
		"x=" + url.QueryEscape(canary):                      "x=" + maskText,
		base64.StdEncoding.EncodeToString([]byte(canary)):   maskText,
		"plain-secret-1 plain-secret-2 \xff plain-secret-1": maskText + " plain-secret-2 \xff " + maskText,
	} {
		if got := m.text(text); got != want {
			t.Errorf("%q is masked as %q, want %q", text, got, want)
		}
		if got := string(m.bytes([]byte(text))); got != want {
			t.Errorf("%q is masked as bytes as %q, want %q", text, got, want)
		}
	}
}
