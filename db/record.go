package db

import "time"

// Kind says what a step holds. The numbers are part of the format.
type Kind byte

// The kinds of steps.
const (
	KindAttempt  Kind = 1
	KindSandbox  Kind = 2
	KindTurn     Kind = 3
	KindRejected Kind = 4
	KindResult   Kind = 5
	KindRerun    Kind = 6
	KindRetry    Kind = 7
)

// String returns the kind's name in lower case.
func (k Kind) String() string {
	names := [...]string{"?", "attempt", "sandbox", "turn", "rejected", "result", "rerun", "retry"}
	if int(k) < len(names) {
		return names[k]
	}
	return names[0]
}

// Record is what a step holds: *Attempt, *Sandbox, *Turn, *Rejected, *Result,
// *Rerun or *Retry. Times are stored in UTC; records are not changed by being
// appended and may be used again.
type Record interface {
	kind() Kind
	appendPayload(dst []byte) ([]byte, error)
	parsePayload(f *fields) error
}

// Attempt opens an attempt and is always step 0 of it. Parent and ForkStep
// name the last step that it keeps: step ForkStep of attempt Parent (the
// attempt in which that step lies) and what that one's thread holds before it.
// Both are -1 if the attempt begins with nothing.
type Attempt struct {
	Parent   int       `json:"parent"`
	ForkStep int       `json:"fork_step"`
	Reason   string    `json:"reason"` // "start", "sandbox_lost" …
	Settings Hash      `json:"settings,omitzero"`
	Drawn    []string  `json:"drawn,omitempty"`    // toolsets that the distribution gave
	Toolsets []string  `json:"toolsets,omitempty"` // those of them that offer a tool
	Offered  []string  `json:"offered,omitempty"`  // names of the tools
	Tools    Hash      `json:"tools,omitzero"`     // blob: tool definitions as sent
	Spent    Usage     `json:"spent,omitzero"`     // of earlier attempts, for steps that this one does not keep
	Tries    int       `json:"tries,omitempty"`    // requests sent for those steps
	Launch   int       `json:"launch"`
	At       time.Time `json:"at,omitzero"`
}

// Sandbox records where the calls of an attempt run, before the first of them
// that has state.
type Sandbox struct {
	Kind        string    `json:"kind"` // "local" or "docker"
	Folder      string    `json:"folder,omitempty"`
	Nonce       string    `json:"nonce,omitempty"`
	Container   string    `json:"container,omitempty"`
	Started     time.Time `json:"started,omitzero"`
	Boot        string    `json:"boot,omitempty"`
	Isolation   string    `json:"isolation,omitempty"`
	SharedCwd   bool      `json:"shared_cwd,omitempty"`
	ImageDigest string    `json:"image_digest,omitempty"`
	At          time.Time `json:"at,omitzero"`
}

// Turn is a reply of the model that belongs to the conversation.
type Turn struct {
	Entry          Entry         `json:"-"` // ready to be rendered
	Raw            []byte        `json:"-"` // the reply's bytes as they came
	Request        Hash          `json:"request,omitzero"`
	Usage          Usage         `json:"usage,omitzero"`
	Finish         string        `json:"finish,omitempty"`
	ReasoningField string        `json:"reasoning_field,omitempty"` // name that the reasoning came under
	Repairs        int           `json:"repairs,omitempty"`
	Tries          int           `json:"tries,omitempty"`
	BadCalls       []BadCall     `json:"bad_calls,omitempty"` // calls that are answered with an error
	Replayed       bool          `json:"replayed,omitempty"`
	Launch         int           `json:"launch"`
	At             time.Time     `json:"at,omitzero"`
	Took           time.Duration `json:"took_ns"`
}

// BadCall says why the arguments of the call with this index cannot be used.
type BadCall struct {
	Call int    `json:"call"`
	Why  string `json:"why"`
}

// Rejected is a reply that was paid for but is never rendered.
type Rejected struct {
	Raw     []byte        `json:"-"`
	Request Hash          `json:"request,omitzero"`
	Usage   Usage         `json:"usage,omitzero"`
	Why     string        `json:"why"` // "continued": Text is the beginning of the turn that follows
	Text    string        `json:"text,omitempty"`
	Thought string        `json:"thought,omitempty"` // its reasoning
	Tries   int           `json:"tries,omitempty"`   // requests sent for a continued reply
	Status  int           `json:"status,omitempty"`  // of HTTP
	Launch  int           `json:"launch"`
	At      time.Time     `json:"at,omitzero"`
	Took    time.Duration `json:"took_ns"`
}

// Result is what one tool call gave. Turn is the position in the thread
// (Step.Position) of the turn that asked for it, Call the index among that
// turn's calls.
type Result struct {
	Turn    int           `json:"turn"`
	Call    int           `json:"call"`
	CallID  string        `json:"call_id"`
	Name    string        `json:"name"`
	Parts   []Part        `json:"parts"`
	Success bool          `json:"success"`
	Status  string        `json:"status"`            // "ok", "error", "timeout", "invalid_tool", "bad_arguments" …
	Dropped int64         `json:"dropped,omitempty"` // bytes of output that were not kept
	Shell   *Shell        `json:"shell,omitempty"`   // state after the call, nil if unchanged
	Launch  int           `json:"launch"`
	At      time.Time     `json:"at,omitzero"`
	Took    time.Duration `json:"took_ns"`
}

// The types of parts.
const (
	// PartText is what the model and the row are shown.
	PartText = "text"
	// PartFull is a piece of all that the text shows head and tail of. The
	// pieces follow each other in order; they are in no row.
	PartFull = "full"
)

// Part is a piece of a result: Text for PartText, else the blob with its bytes.
type Part struct {
	Type string `json:"type"`
	Text string `json:"-"`
	Blob Hash   `json:"blob,omitzero"`
}

// Shell is the state of a session's shell: its folder, and its environment as
// text that the same shell can source.
type Shell struct {
	Cwd string `json:"cwd"`
	Env string `json:"-"`
}

// Rerun is committed before a call that may have begun is run again. Turn and
// Call are as in Result.
type Rerun struct {
	Turn   int       `json:"turn"`
	Call   int       `json:"call"`
	Why    string    `json:"why"`
	Launch int       `json:"launch"`
	At     time.Time `json:"at,omitzero"`
}

// Retry marks where a session that had an outcome goes on, and under what.
type Retry struct {
	Settings Hash      `json:"settings,omitzero"`
	Drawn    []string  `json:"drawn,omitempty"`
	Toolsets []string  `json:"toolsets,omitempty"`
	Offered  []string  `json:"offered,omitempty"`
	Tools    Hash      `json:"tools,omitzero"`
	Tries    int       `json:"tries"`  // requests that led to no turn so far
	Reason   string    `json:"reason"` // of the outcome that is superseded
	Launch   int       `json:"launch"`
	At       time.Time `json:"at,omitzero"`
}
