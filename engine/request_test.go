package engine

import (
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

// Answers that the token limit cut can be tried again under a larger one; what
// was complete is not asked for again, and rows say which settings made them.
func TestCutAnswersAreRetriedUnderALargerLimit(t *testing.T) {
	b := newBench(t, func(a ask) (int, string) {
		if strings.Contains(a.Body, `"content":"long"`) && strings.Contains(a.Body, `"max_tokens":10`) {
			return cut("a piece ")
		}
		return says("whole")
	})
	b.prompts("short", "long")
	b.mustRun(func(o *Options) { o.MaxTokens = 10 })
	b.wantEnds(answered, "partial/cut_replies")
	before := b.model.count()
	b.mustRun(resume, func(o *Options) {
		o.MaxTokens, o.AllowConfigChange, o.RetryIncomplete = 99, true, []string{reasonCutReplies}
	})
	b.wantEnds(answered, answered)
	for _, a := range b.model.since(before) {
		if strings.Contains(a.Body, `"content":"short"`) {
			t.Error("a complete prompt was asked for again")
		}
	}
	if b.outcome(0).Settings == b.outcome(1).Settings {
		t.Error("both rows have the settings of one session")
	}
}
