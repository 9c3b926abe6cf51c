package model

import "time"

// The fields in which reasoning comes, by precedence: if several carry the same
// text, it came in the first.
const (
	fieldReasoningContent = "reasoning_content"
	fieldReasoning        = "reasoning"
	fieldThinking         = "thinking"
	fieldReasoningDetails = "reasoning_details"
	fieldThinkingBlocks   = "thinking_blocks"
	fieldContent          = "content" // a think block or part of the text
)

// Reply is a model's reply, normalised.
type Reply struct {
	Raw            []byte // the body as it came, but for secrets
	Content        string // the answer, without think blocks
	Reasoning      string
	ReasoningField string // field in which the reasoning came; empty: none
	Calls          []ReplyCall
	Finish         string // finish_reason as it came; whether there are calls says more
	Refusal        string // why the model or its provider refused; empty: it did not
	Model, ID      string // as the provider names them
	Usage          Usage
	Repairs        int        // calls whose arguments had to be made
	Tries          int        // requests sent for it
	Rejected       []Rejected // replies to earlier tries that could not be used
	At             time.Time  // when it had arrived
	Took           time.Duration
}

// Rejected is a reply that could not be used, though it may have been billed.
type Rejected struct {
	Raw    []byte // as far as it came
	Usage  Usage
	Why    string // a word, one of those below
	Status int
	At     time.Time
	Took   time.Duration
}

// Why a reply was rejected.
const (
	whyEmptyReply   = "empty_reply"   // neither answer nor calls nor reasoning
	whyEmptyChoices = "empty_choices" // no choice, or one without a message
	whyErrorBody    = "error_body"    // an error in the place of a reply
	whyErrorChoice  = "error_choice"  // the provider failed in the middle
	whyNoReply      = "no_reply"      // not the JSON of a reply: nothing, a page, something else
	whyCutBody      = "cut_body"      // the connection or the time ended first
	whyTooLarge     = "too_large"
	whyCutCall      = "cut_call"   // the token limit was reached within a call, or before anything visible
	whyLostCalls    = "lost_calls" // calls are announced, and none is there
)
