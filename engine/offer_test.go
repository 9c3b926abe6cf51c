package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hermes-batch/db"
)

// toolNames are the tools that a request offers.
func toolNames(a ask) string {
	var names []string
	for _, tool := range a.Tools {
		names = append(names, tool.Function.Name)
	}
	return strings.Join(names, " ")
}

// The toolsets of a prompt come from seed and identity: they are the same in
// every run, in any order, and differ between copies.
func TestDrawIsOfSeedAndIdentity(t *testing.T) {
	draw := func(seed int64, prompts ...string) map[string]string {
		drawn := map[string]string{}
		b := newBench(t, echoes)
		writeFile(t, "chances.json", `{"half": {"terminal": 50, "file": 50, "calculator": 50, "web": 50}}`)
		b.prompts(prompts...)
		b.mustRun(func(o *Options) {
			o.DistributionFile, o.Distribution, o.DistributionSeed, o.Workers = "chances.json", "half", seed, 3
		})
		b.read(func(s *db.Store) {
			for index := range prompts {
				p, err := s.Prompt(index)
				if err != nil {
					t.Fatal(err)
				}
				out := b.outcomeOf(s, index)
				drawn[fmt.Sprint(p.Text, p.Copy)] = strings.Join(out.Toolsets, " ")
			}
		})
		return drawn
	}
	var prompts []string
	for i := range 30 {
		prompts = append(prompts, fmt.Sprint("p", i%15, " "))
	}
	first := draw(0, prompts...)
	slices.Reverse(prompts)
	if again := draw(0, prompts...); fmt.Sprint(again) != fmt.Sprint(first) {
		t.Errorf("drawn %v and then %v", first, again)
	}
	if other := draw(1, prompts...); fmt.Sprint(other) == fmt.Sprint(first) {
		t.Error("another seed draws the same")
	}
	differ := 0
	for i := range 15 {
		if first[fmt.Sprint("p", i, " 0")] != first[fmt.Sprint("p", i, " 1")] {
			differ++
		}
	}
	if differ == 0 {
		t.Error("copies draw the same")
	}
	for identity, toolsets := range first {
		if strings.Contains(toolsets, "web") {
			t.Errorf("%s uses %s; web cannot work here", identity, toolsets)
		}
	}
}

// A session keeps what it was offered, also if the program has other tools
// when it goes on.
func TestRecordedOfferStays(t *testing.T) {
	interrupt := make(chan bool, 1)
	var b *bench
	b = newBench(t, func(a ask) (int, string) {
		switch {
		case a.Prompt == "old" && a.Turn == 0:
			interrupt <- true
			<-b.now.Load().stop.soft
			return adds()
		case a.Prompt == "old" && a.Turn == 1:
			return calls("newer", "{}")
		}
		return says("done")
	})
	b.prompts("old", "new")
	b.interruptedRun(interrupt, oneWorker, grace(1<<40))
	b.offer(probe{name: "newer", call: explode})
	b.mustRun(resume)
	b.wantEnds(answered, answered)
	for _, a := range b.model.since(0) {
		if got := strings.Contains(toolNames(a), "newer"); got != (a.Prompt == "new") {
			t.Errorf("%q turn %d is offered %q", a.Prompt, a.Turn, toolNames(a))
		}
	}
	if out := b.outcome(0); fmt.Sprint(out.InvalidTools) != "[newer]" {
		t.Errorf("invalid tools %q", out.InvalidTools)
	}
}

// Without any tool that works here the run goes on, and says so.
func TestNothingToOffer(t *testing.T) {
	var log logBuffer
	b := newBench(t, echoes)
	b.deps.Log = log.logger()
	writeFile(t, "chances.json", `{"far": {"web": 100, "browser": 100, "file": 0}}`)
	b.prompts("a")
	b.hook = func(r *Run) {
		if err := r.Announce(); err != nil {
			t.Error(err)
		}
	}
	b.mustRun(func(o *Options) { o.DistributionFile, o.Distribution = "chances.json", "far" })
	b.wantEnds(answered)
	if a := b.model.since(0)[0]; strings.Contains(a.Body, `"tools"`) {
		t.Errorf("the request is %s", a.Body)
	}
	for _, want := range []string{"not offered: web (needs a search service), browser (needs a Chromium to drive); ", "goes on without tools"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log.String())
		}
	}
	if out := b.outcome(0); len(out.Toolsets) != 0 {
		t.Errorf("toolsets %q", out.Toolsets)
	}
}

func TestBadLinesAreAnnounced(t *testing.T) {
	var log logBuffer
	b := newBench(t, echoes)
	b.deps.Log = log.logger()
	b.hook = func(r *Run) {
		if err := r.Announce(); err != nil {
			t.Error(err)
		}
	}
	b.dataset(append([]string{`{"prompt":"a"}`}, slices.Repeat([]string{"bad"}, badLinesShown+5)...)...)
	b.mustRun()
	if n := strings.Count(log.String(), "bad line skipped"); n != badLinesShown {
		t.Errorf("%d lines are shown", n)
	}
	if !strings.Contains(log.String(), "5 more bad lines") || !strings.Contains(log.String(), "line=2 ") {
		t.Errorf("the log is\n%s", log.String())
	}
}

// Ephemeral prompt and prefill are sent with every call, also after a resume,
// and are no part of the conversation.
func TestEphemeralPromptAndPrefill(t *testing.T) {
	interrupt := make(chan bool, 1)
	var b *bench
	b = newBench(t, func(a ask) (int, string) {
		if a.Turn == 0 {
			interrupt <- true
			<-b.now.Load().stop.soft
			return adds()
		}
		return says("done")
	})
	writeFile(t, "prefill.json", `[{"role":"user","content":"PREFILLED"},{"role":"assistant","content":"YES"}]`)
	b.prompts("a")
	change := func(o *Options) { o.EphemeralPrompt, o.PrefillFile = "EPHEMERAL", "prefill.json" }
	b.interruptedRun(interrupt, change, grace(1<<40))
	b.mustRun(resume, change)
	for _, a := range b.model.since(0) {
		var roles []string
		for _, m := range a.Messages {
			roles = append(roles, m.Role)
		}
		if got := strings.Join(roles[:4], " "); got != "system user assistant user" || *a.Messages[0].Content != "EPHEMERAL" || *a.Messages[1].Content != "PREFILLED" {
			t.Errorf("sent %s", a.Body)
		}
	}
	if talk := strings.Join(b.talk(0), ""); strings.Contains(talk, "EPHEMERAL") || strings.Contains(talk, "PREFILLED") || strings.Contains(talk, "YES") {
		t.Errorf("the conversation is %s", talk)
	}
	b.model.wantOnce()
}
