package engine

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// Routing flags reach the endpoint in OpenRouter's provider object.
func TestRoutingIsSent(t *testing.T) {
	b := newBench(t, echoes)
	b.prompts("a")
	b.mustRun(func(o *Options) {
		o.ProvidersAllowed, o.ProvidersIgnored, o.ProvidersOrder = []string{"one", "two"}, []string{"three"}, []string{"two", "one"}
		o.ProviderSort = "throughput"
	})
	want := `"provider":{"only":["one","two"],"ignore":["three"],"order":["two","one"],"sort":"throughput"}`
	if body := b.model.since(0)[0].Body; !strings.Contains(body, want) {
		t.Errorf("the request lacks %s:\n%s", want, body)
	}
}

// Reasoning that is only counted is reasoning, too.
func TestCountedReasoning(t *testing.T) {
	b := newBench(t, func(ask) (int, string) {
		return 200, `{"choices":[{"message":{"role":"assistant","content":"4"},"finish_reason":"stop"}],
			"usage":{"prompt_tokens":1,"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":8}}}`
	})
	b.prompts("a")
	b.mustRun()
	if out := b.outcome(0); out.ReasonedTurns != 1 || out.Usage.ReasoningTokens != 8 {
		t.Errorf("outcome %+v", out)
	}
}

// A prompt whose request failed is tried again while others are still going on.
func TestFailedRequestIsRetriedBesideOthers(t *testing.T) {
	again := make(chan struct{})
	var tries atomic.Int32
	b := newBench(t, func(a ask) (int, string) {
		if a.Prompt == "fails once" {
			if tries.Add(1) == 1 {
				return broken(503, "busy")
			}
			close(again)
		} else {
			<-again // ends only once the other one was tried again
		}
		return says("done")
	})
	b.prompts("fails once", "slow", "slower")
	b.mustRun(func(o *Options) { o.Workers = 3 })
	b.wantEnds(answered, answered, answered)
}

// Answers that the token limit cut can be tried again, as a whole, under a larger
// one; what was complete is not asked for again, and rows say which settings
// made them. The pieces stay paid.
func TestCutAnswersAreRetriedUnderALargerLimit(t *testing.T) {
	b := newBench(t, func(a ask) (int, string) {
		if strings.Contains(a.Body, `"content":"long`) && strings.Contains(a.Body, `"max_tokens":10`) {
			return cut("a piece ")
		}
		return says("whole")
	})
	b.prompts("short", "long", "brief", "longer")
	b.mustRun(func(o *Options) { o.MaxTokens = 10 })
	b.wantEnds(answered, "partial/cut_replies", answered, "partial/cut_replies")
	before := b.model.count()
	b.mustRun(resume, func(o *Options) {
		o.MaxTokens, o.AllowConfigChange, o.RetryIncomplete = 99, true, []string{reasonCutReplies}
	})
	b.wantEnds(answered, answered, answered, answered)
	if again := b.model.seen(before); !slices.Equal(again, []string{"long", "longer"}) || b.model.count() != before+2 {
		t.Errorf("%d requests, of the prompts %q", b.model.count()-before, again)
	}
	old, now := b.outcome(0).Settings, b.outcome(1).Settings
	if old == now || b.outcome(2).Settings != old || b.outcome(3).Settings != now {
		t.Error("rows do not have the settings that made them")
	}
	for _, index := range []int{1, 3} {
		if talk := b.talk(index); len(talk) != 1 || !strings.Contains(talk[0], `"value":"whole"`) {
			t.Errorf("conversation %q", talk)
		}
		out := b.outcome(index)
		if out.APICalls != 1 || out.Usage.CompletionTokens != 5 || out.Spent.CompletionTokens != 5*(1+maxContinued+1) || out.Tries != 1+maxContinued+1 {
			t.Errorf("outcome %+v", out)
		}
	}
}
