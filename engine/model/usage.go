package model

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

// Usage is what a reply cost, as far as the provider says.
type Usage struct {
	PromptTokens, CompletionTokens, ReasoningTokens, CachedTokens int64

	Cost      float64 // in dollars
	CostKnown bool
}

// wireUsage is usage under the names of the different APIs.
type wireUsage struct {
	Prompt     count `json:"prompt_tokens"`
	Input      count `json:"input_tokens"`
	Completion count `json:"completion_tokens"`
	Output     count `json:"output_tokens"`
	Reasoning  count `json:"reasoning_tokens"`
	Cached     count `json:"cached_tokens"`
	CacheHit   count `json:"prompt_cache_hit_tokens"`
	CacheRead  count `json:"cache_read_input_tokens"`
	Cost       money `json:"cost"`

	PromptDetails     usageDetails `json:"prompt_tokens_details"`
	InputDetails      usageDetails `json:"input_tokens_details"`
	CompletionDetails usageDetails `json:"completion_tokens_details"`
	OutputDetails     usageDetails `json:"output_tokens_details"`
}

type usageDetails struct {
	Cached    count `json:"cached_tokens"`
	Reasoning count `json:"reasoning_tokens"`
}

func usageOf(raw json.RawMessage) Usage {
	if firstByte(raw) != '{' {
		return Usage{}
	}
	var w wireUsage
	decode(raw, &w)
	return Usage{
		PromptTokens:     first(w.Prompt, w.Input),
		CompletionTokens: first(w.Completion, w.Output),
		ReasoningTokens:  first(w.CompletionDetails.Reasoning, w.OutputDetails.Reasoning, w.Reasoning),
		CachedTokens:     first(w.PromptDetails.Cached, w.InputDetails.Cached, w.Cached, w.CacheHit, w.CacheRead),
		Cost:             w.Cost.dollars,
		CostKnown:        w.Cost.known,
	}
}

// first returns the first count that is not zero.
func first(counts ...count) int64 {
	for _, n := range counts {
		if n != 0 {
			return int64(n)
		}
	}
	return 0
}

// count is a number of tokens, given as a number or a string. What is negative
// or no number counts as zero.
type count int64

func (n *count) UnmarshalJSON(raw []byte) error {
	f, ok := number(raw)
	*n = 0
	if ok && f > 0 {
		*n = count(min(f, 1<<40))
	}
	return nil
}

// money is an amount in dollars.
type money struct {
	dollars float64
	known   bool
}

func (m *money) UnmarshalJSON(raw []byte) error {
	f, ok := number(raw)
	if ok && f >= 0 {
		m.dollars, m.known = f, true
	}
	return nil
}

// number reads a finite number, also one in quotes.
func number(raw []byte) (float64, bool) {
	raw = bytes.Trim(raw, `" `)
	f, err := strconv.ParseFloat(string(raw), 64)
	return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}
