package engine

import (
	"slices"
	"strings"

	"hermes-batch/db"
)

// incompleteReasons are those of incomplete and partial prompts.
var incompleteReasons = []string{reasonMaxTurns, reasonPromptTimeout, reasonBudget, reasonContext,
	reasonRefusal, reasonOnlyReasoning, reasonInvalidCalls, reasonCutReplies}

// retryReasons is the flag --retry_incomplete: bare or "all" means every
// reason.
type retryReasons struct{ list *[]string }

func (r retryReasons) String() string {
	if r.list == nil {
		return ""
	}
	return strings.Join(*r.list, ",")
}

func (r retryReasons) IsBoolFlag() bool { return true }

// IsListFlag lets a configuration file give an array.
func (r retryReasons) IsListFlag() bool { return true }

func (r retryReasons) Set(text string) error {
	switch text {
	case "", "false", "none":
		*r.list = nil
		return nil
	case "true", "all":
		*r.list = []string{"all"}
		return nil
	}
	var reasons []string
	for reason := range strings.SplitSeq(text, ",") {
		reason = strings.TrimSpace(reason)
		if !slices.Contains(incompleteReasons, reason) {
			return Usagef("%q is no reason; allowed: all, none, %s", reason, strings.Join(incompleteReasons, ", "))
		}
		reasons = append(reasons, reason)
	}
	*r.list = reasons
	return nil
}

// due tells whether a prompt with this outcome is to be worked on again.
func (o *Options) due(h db.OutcomeHead) bool {
	switch h.End {
	case db.EndFailed:
		return o.RetryFailed == "all" || o.RetryFailed == "transient" && h.Class == db.ClassTransient
	case db.EndIncomplete, db.EndPartial:
		return slices.Contains(o.RetryIncomplete, "all") || slices.Contains(o.RetryIncomplete, h.Reason)
	}
	return false
}
