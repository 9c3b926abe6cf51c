package figures

// Target is what a figure is held against. The zero value is that of Less.
type Target struct {
	Limit  float64
	Held   bool // there is a limit
	Higher bool // more is better
}

// AtMost is a target that larger values miss.
func AtMost(limit float64) Target { return Target{Limit: limit, Held: true} }

// AtLeast is a target that smaller values miss.
func AtLeast(limit float64) Target { return Target{Limit: limit, Held: true, Higher: true} }

// Less is no target, and says that less is better.
func Less() Target { return Target{} }

// More is no target, and says that more is better.
func More() Target { return Target{Higher: true} }

// String is "≤ 1.1" or "≥ 100", "" without a limit.
func (t Target) String() string {
	switch {
	case !t.Held:
		return ""
	case t.Higher:
		return "≥ " + Short(t.Limit)
	}
	return "≤ " + Short(t.Limit)
}

// Verdict is "met" or "missed", "" without a limit.
func (t Target) Verdict(value float64) string {
	switch {
	case !t.Held:
		return ""
	case t.Higher && value >= t.Limit, !t.Higher && value <= t.Limit:
		return "met"
	}
	return "missed"
}
