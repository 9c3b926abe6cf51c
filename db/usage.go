package db

// Usage is what model calls consumed. Cost is in the currency of the endpoint
// (US dollars for all known ones) and means something only where CostKnown.
type Usage struct {
	PromptTokens     int64   `json:"prompt_tokens"`
	CompletionTokens int64   `json:"completion_tokens"`
	ReasoningTokens  int64   `json:"reasoning_tokens"`
	CachedTokens     int64   `json:"cached_tokens"`
	Cost             float64 `json:"cost"`
	CostKnown        bool    `json:"cost_known"`
}

// Add returns the sum. Its cost is known if both are, or if one of them is the
// zero Usage and the other's is.
func (u Usage) Add(v Usage) Usage {
	switch {
	case u == Usage{}:
		return v
	case v == Usage{}:
		return u
	}
	return Usage{
		PromptTokens:     u.PromptTokens + v.PromptTokens,
		CompletionTokens: u.CompletionTokens + v.CompletionTokens,
		ReasoningTokens:  u.ReasoningTokens + v.ReasoningTokens,
		CachedTokens:     u.CachedTokens + v.CachedTokens,
		Cost:             u.Cost + v.Cost,
		CostKnown:        u.CostKnown && v.CostKnown,
	}
}
