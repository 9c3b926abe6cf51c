package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"hermes-batch/db"
	"hermes-batch/engine/model"
	"hermes-batch/tools"
)

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		writeFile(t, path, got)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update rewrites it); got:\n%s", path, got)
	}
}

// The canonical bytes are frozen: with other ones every run would have other
// settings after an update of the program.
func TestCanonicalSettings(t *testing.T) {
	local := tools.Distribution{Name: "d", Chances: []tools.Chance{{Toolset: "terminal", Percent: 100}, {Toolset: "web", Percent: 12.5}}}
	vectors := []Settings{
		{Model: "m", MaxTurns: 10, Sandbox: "local"},
		{
			Model: "anthropic/claude-sonnet-4.6", Chances: string(local.Canonical()), Seed: -1, MaxTurns: 1, MaxTokens: 77,
			Reasoning: json.RawMessage(`{"enabled":true,"effort":"medium"}`), Provider: model.ProviderFor([]string{"a", "b"}, nil, nil, "price"),
			EphemeralPrompt: "a \"quoted\" <line>\n\ttab \\ \u2028 \x01 \x7f é 😀", Sandbox: "local", DefaultImage: "debian:12",
			Prefill: []model.Message{{Role: "user", Content: "hi\n"}, {Role: "assistant", Content: "ho"}},
		},
		{Model: "bad \xff utf-8", ReasoningEffort: "xhigh", Seed: 1<<63 - 1},
	}
	var out strings.Builder
	for i := range vectors {
		canonical := vectors[i].Canonical()
		if !json.Valid(canonical) {
			t.Errorf("vector %d is no JSON", i)
		}
		fmt.Fprintf(&out, "%s%s\n\n", canonical, db.HashParts("settings/1", canonical))
	}
	golden(t, "settings.golden", out.String())
}

// What is stored can be read back, whatever a user writes.
func FuzzSettings(f *testing.F) {
	f.Add("m", "a \"b\" \\ \n\x00", "user", int64(-3), 5, `{"a":1}`)
	f.Add("", "\xff\u2028</script>", "", int64(0), 0, "")
	f.Fuzz(func(t *testing.T, name, text, role string, seed int64, n int, provider string) {
		s := Settings{Model: name, EphemeralPrompt: text, Chances: text, Seed: seed, MaxTurns: n, MaxTokens: -n, Sandbox: role,
			Prefill: []model.Message{{Role: role, Content: text}}}
		if json.Valid([]byte(provider)) && utf8.ValidString(provider) && strings.TrimSpace(provider) == provider && provider != "null" {
			s.Provider = json.RawMessage(provider)
		}
		canonical := s.Canonical()
		read, err := parseSettings(canonical)
		if err != nil {
			t.Fatalf("%v in %s", err, canonical)
		}
		if again := read.Canonical(); !bytes.Equal(again, canonical) {
			t.Errorf("%s\nis read as\n%s", canonical, again)
		}
		if diff := differences(&s, read); len(diff) > 0 {
			t.Errorf("differences %q", diff)
		}
	})
}

func TestPrefillFile(t *testing.T) {
	t.Chdir(t.TempDir())
	for text, want := range map[string]string{
		`[{"role":"user","content":"x"},{"role":"assistant","content":""}]`: "",
		"\ufeff[]":                          "",
		`{"role":"user","content":"x"}`:     "no JSON array",
		`[{"role":"tool","content":"x"}]`:   `role "tool"; allowed: system, user, assistant`,
		`[{"role":"user","text":"x"}]`:      "no JSON array",
		`[{"role":"user","content":5}]`:     "no JSON array",
		`[{"role":"user","content":"x"}`:    "no JSON array",
		`[{"role":"user","content":"x"}] x`: "no JSON array",
		``:                                  "no JSON array",
	} {
		writeFile(t, "prefill.json", text)
		_, err := readPrefill("prefill.json")
		if want == "" && err != nil || want != "" && (!errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := readPrefill("nowhere.json"); !errors.Is(err, ErrUsage) {
		t.Errorf("a missing file: %v", err)
	}
}

// storeText is everything in the store that a resume could change.
func (b *bench) storeText() (text string) {
	b.t.Helper()
	b.read(func(s *db.Store) {
		launches, err := s.Launches()
		if err != nil {
			b.t.Fatal(err)
		}
		plan, _, err := s.Plan()
		if err != nil {
			b.t.Fatal(err)
		}
		next, _ := s.NextIndex()
		text = fmt.Sprintf("%+v\n%+v\n%d\n", launches, plan, next)
		for index := range next {
			out, _, err := s.Outcome(db.MakeOrdinal(index, 0))
			if err != nil {
				b.t.Fatal(err)
			}
			text += fmt.Sprintf("%s %+v\n", kinds(b.t, s, index), out)
		}
	})
	return text
}

func TestOtherSettingsAreRefused(t *testing.T) {
	b := newBench(t, echoes)
	b.prompts("a", "b")
	b.mustRun(func(o *Options) { o.MaxSamples = 1 })
	writeFile(t, "prefill.json", `[{"role":"user","content":"x"}]`)
	before := b.storeText()
	for want, change := range map[string]func(*Options){
		`model: "m" -> "m2"`:                                         func(o *Options) { o.Model = "m2" },
		`max_turns: 10 -> 11`:                                        maxTurns(11),
		`max_tokens: 0 -> 5`:                                         func(o *Options) { o.MaxTokens = 5 },
		`distribution_seed: 0 -> 1`:                                  func(o *Options) { o.DistributionSeed = 1 },
		`distribution: `:                                             func(o *Options) { o.Distribution = "default" },
		`reasoning_effort: "" -> "high"`:                             func(o *Options) { o.ReasoningEffort = "high" },
		`reasoning_effort: "" -> "none"`:                             func(o *Options) { o.ReasoningDisabled, o.ReasoningEffort = true, "low" },
		`provider: null -> {"only":["x"]}`:                           func(o *Options) { o.ProvidersAllowed = []string{"x"} },
		`ephemeral_system_prompt: "" -> "hi"`:                        func(o *Options) { o.EphemeralPrompt = "hi" },
		`prefill_messages: [] -> [{"role": "user", "content": "x"}]`: func(o *Options) { o.PrefillFile = "prefill.json" },
	} {
		err := b.run(t.Context(), resume, change)
		if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--allow_config_change") {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if after := b.storeText(); after != before {
		t.Errorf("the store has changed:\n%s\nwas\n%s", after, before)
	}
	b.model.wantCount(1)
	b.mustRun(resume)
	b.wantEnds(answered, answered)
}

func TestWhatMayChangeOnResume(t *testing.T) {
	b := newBench(t, echoes)
	b.prompts("a", "b")
	b.mustRun(func(o *Options) { o.MaxSamples, o.APIKey = 1, "first-key-000000" })
	other := newScript(t, echoes)
	writeFile(t, "chances.json", `{"mine": {"terminal": 100, "file": 100, "calculator": 100, "code_execution": 100, "todo": 100}}`)
	b.mustRun(resume, func(o *Options) {
		o.BaseURL, o.APIKey, o.Workers, o.BatchSize = other.URL+"/v1", "second-key-00000", 9, 7
		o.PromptTimeout, o.RequestTimeout, o.ShutdownGrace = time.Hour, time.Minute, 0
		o.Verbose, o.PreviewChars, o.KeepSandboxes, o.WorkDir = true, 5, "failed", "elsewhere"
	})
	other.wantCount(1)
	b.model.wantCount(1)
	if key := other.since(0)[0].Header.Get("Authorization"); key != "Bearer second-key-00000" {
		t.Errorf("the request came with %q", key)
	}
	b.read(func(s *db.Store) {
		launches, err := s.Launches()
		if err != nil || len(launches) != 2 || launches[0].Settings != launches[1].Settings {
			t.Errorf("launches %+v, %v", launches, err)
		}
	})
	raw, err := os.ReadFile(storeFile())
	if err != nil || bytes.Contains(raw, []byte("key-0000")) {
		t.Errorf("a key stands in the store (%v)", err)
	}
}

func TestEqualDistributionUnderAnotherName(t *testing.T) {
	b := newBench(t, echoes)
	b.prompts("a")
	writeFile(t, "chances.json", `{"one": {"terminal": 50}, "two": {"terminal": 50, "file": 0}}`)
	b.mustRun(func(o *Options) { o.DistributionFile, o.Distribution = "chances.json", "one" })
	b.mustRun(resume, func(o *Options) { o.DistributionFile, o.Distribution = "chances.json", "two" })
	b.model.wantCount(1)
}

// Sessions in flight finish under the settings that they began with; failed
// and new ones run under the present ones.
func TestAllowedChangeOfSettings(t *testing.T) {
	interrupt := make(chan bool, 1)
	b := newBench(t, func(a ask) (int, string) {
		switch {
		case a.Prompt == "fails" && a.Model == "old":
			return broken(400, "bad")
		case a.Prompt == "in flight" && a.Turn == 0:
			return adds()
		case a.Prompt == "in flight" && a.Model == "old" && len(interrupt) == 0:
			interrupt <- true
			<-a.Gone
		}
		return says("done")
	})
	b.prompts("done", "fails", "in flight", "new")
	ctx, cancel := cancelled(t, interrupt)
	defer cancel()
	old := func(o *Options) { o.Model, o.EphemeralPrompt = "old", "be old" }
	if err := b.run(ctx, oneWorker, old); !errors.Is(err, ErrInterrupted) {
		t.Fatal(err)
	}
	interrupt <- true // answers from now on
	b.wantEnds(answered, "failed/bad_request/permanent", "", "")
	before := b.model.count()
	now := func(o *Options) { o.Model, o.EphemeralPrompt, o.AllowConfigChange = "new", "be new", true }
	b.mustRun(resume, now)
	b.wantEnds(answered, answered, answered, answered)
	for _, a := range b.model.since(before) {
		want := map[string]string{"fails": "new", "in flight": "old", "new": "new"}[a.Prompt]
		if a.Model != want || *a.Messages[0].Content != "be "+want {
			t.Errorf("%q was sent to %q under %q, want %q", a.Prompt, a.Model, *a.Messages[0].Content, want)
		}
	}
	for index, want := range []string{"old", "new", "old", "new"} {
		if out := b.outcome(index); out.Model != want {
			t.Errorf("prompt %d says model %q, want %q", index, out.Model, want)
		}
	}
	if a, n := b.outcome(2), b.outcome(3); a.Settings == n.Settings {
		t.Error("rows of different settings have the same fingerprint")
	}
	b.mustRun(resume, func(o *Options) { o.Model, o.EphemeralPrompt = "new", "be new" }) // what was allowed is the run's own now
	if err := b.run(t.Context(), resume, old); !errors.Is(err, ErrUsage) {
		t.Errorf("back to the old settings: %v", err)
	}
	if got := slices.Compact(b.model.seen(before)); len(got) != 3 {
		t.Errorf("asked %q", got)
	}
}
