package db

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"
)

// How a session ended, and the classes of failures.
const (
	EndCompleted  = "completed"
	EndIncomplete = "incomplete"
	EndPartial    = "partial"
	EndFailed     = "failed"

	ClassTransient = "transient"
	ClassPermanent = "permanent"
)

// InvalidTool is the name under which calls of tools that do not exist count.
const InvalidTool = "invalid_tool"

// Outcome is how a session ended, and everything about it that a query or a row
// needs but for the conversation. Attempt, Steps and Head are set by Log.Finish.
type Outcome struct {
	End            string              `json:"end"` // EndCompleted, EndIncomplete, EndPartial or EndFailed
	Reason         string              `json:"reason"`
	Class          string              `json:"class,omitempty"`   // ClassTransient or ClassPermanent if failed
	Message        string              `json:"message,omitempty"` // of a failure, one line
	Attempt        int                 `json:"attempt"`           // the last one, -1 if none began
	Steps          int                 `json:"steps"`             // that the last attempt had
	Head           Hash                `json:"head"`              // hash of the last step
	At             time.Time           `json:"at"`
	Launch         int                 `json:"launch"`
	Settings       Hash                `json:"settings,omitzero"`
	Model          string              `json:"model"`
	AssistantTurns int                 `json:"assistant_turns"`
	ReasonedTurns  int                 `json:"reasoned_turns"`
	InvalidTools   []string            `json:"invalid_tools,omitempty"` // called names that do not exist
	APICalls       int                 `json:"api_calls"`
	Toolsets       []string            `json:"toolsets,omitempty"`
	ToolStats      map[string]ToolStat `json:"tool_stats,omitempty"` // used ones only, and InvalidTool
	Usage          Usage               `json:"usage"`                // of the row's turns
	Spent          Usage               `json:"spent"`                // of everything that was paid for
	Attempts       int                 `json:"attempts"`             // sandboxes used
	ToolReruns     int                 `json:"tool_reruns"`
	Repairs        int                 `json:"repairs"`
	Tries          int                 `json:"tries"` // requests sent
	Replayed       int                 `json:"replayed"`
	Isolation      string              `json:"isolation"`
	SharedCwd      bool                `json:"shared_cwd"`
	ImageDigest    string              `json:"image_digest"`
	Wall           time.Duration       `json:"wall_ns"`
	ModelTime      time.Duration       `json:"model_ns"`
	ToolTime       time.Duration       `json:"tool_ns"`
}

// ToolStat counts the calls of one tool. Count is the sum of the others.
type ToolStat struct {
	Count   int `json:"count"`
	Success int `json:"success"`
	Failure int `json:"failure"`
}

// OutcomeHead is the part of an outcome that verdicts and counts need. Millions
// can be read in a second.
type OutcomeHead struct {
	Ordinal       Ordinal
	End           string
	Reason        string
	Class         string
	ReasonedTurns int
	InvalidCalls  int // calls of tools that do not exist
	At            time.Time
	APICalls      int
}

// HeadOf returns the head of an outcome.
func HeadOf(o Ordinal, out *Outcome) OutcomeHead {
	return OutcomeHead{
		Ordinal: o, End: out.End, Reason: out.Reason, Class: out.Class, ReasonedTurns: out.ReasonedTurns,
		InvalidCalls: max(out.ToolStats[InvalidTool].Count, len(out.InvalidTools)), At: out.At, APICalls: out.APICalls,
	}
}

// The ends and classes of outcomes; their index is their number in the format.
var (
	ends    = []string{"", EndCompleted, EndIncomplete, EndPartial, EndFailed}
	classes = []string{"", ClassTransient, ClassPermanent}
)

// An outcome is two values of the bucket, so that heads lie close together:
// under 'h' ‖ ordinal the head, under 'o' ‖ ordinal the whole as packed JSON.
const (
	outcomeHead  byte = 'h'
	outcomeWhole byte = 'o'
	outcomeKey        = 1 + ordinalKey

	// headSize is what a head has before its reason: end, class, reasoned
	// turns, invalid calls, API calls, nanoseconds since 1970.
	headSize = 1 + 1 + 4 + 4 + 4 + 8
)

func keyOfOutcome(part byte, o Ordinal) []byte {
	return binary.BigEndian.AppendUint64([]byte{part}, uint64(o))
}

func encodeOutcome(ord Ordinal, o *Outcome) ([]put, error) {
	head, err := encodeHead(HeadOf(ord, o))
	if err != nil {
		return nil, err
	}
	c := *o
	c.At = c.At.UTC()
	data, err := json.Marshal(&c)
	if err != nil {
		return nil, err
	}
	whole, puts, err := packInline(nil, data)
	if err != nil {
		return nil, err
	}
	hk, ok := keyOfOutcome(outcomeHead, ord), keyOfOutcome(outcomeWhole, ord)
	return append(puts, put{bucketOutcomes, hk, seal(hk, head)}, put{bucketOutcomes, ok, seal(ok, whole)}), nil
}

func encodeHead(h OutcomeHead) ([]byte, error) {
	end, class := slices.Index(ends, h.End), slices.Index(classes, h.Class)
	if end < 1 || class < 0 {
		return nil, fmt.Errorf("no outcome ends as %q, class %q", h.End, h.Class)
	}
	b := []byte{byte(end), byte(class)}
	for _, n := range []int{h.ReasonedTurns, h.InvalidCalls, h.APICalls} {
		b = binary.BigEndian.AppendUint32(b, uint32(min(max(n, 0), math.MaxInt32)))
	}
	at := int64(0)
	if !h.At.IsZero() {
		at = h.At.UnixNano()
	}
	b = binary.BigEndian.AppendUint64(b, uint64(at))
	return append(b, h.Reason...), nil
}

// reasons keeps one string for each reason that has been seen by a scan.
type reasons map[string]string

func (r reasons) of(b []byte) string {
	if s, ok := r[string(b)]; ok {
		return s
	}
	s := string(b)
	r[s] = s
	return s
}

func parseOutcomeHead(k, v []byte, known reasons) (OutcomeHead, error) {
	if len(k) != outcomeKey {
		return OutcomeHead{}, damaged("outcome key %x", k)
	}
	ord := Ordinal(binary.BigEndian.Uint64(k[1:]))
	b, err := unseal(k, v)
	if err == nil && (len(b) < headSize || int(b[0]) >= len(ends) || int(b[1]) >= len(classes)) {
		err = damaged("unknown head")
	}
	if err != nil {
		return OutcomeHead{}, fmt.Errorf("outcome of %s: %w", ord, err)
	}
	number := func(at int) int { return int(binary.BigEndian.Uint32(b[at:])) }
	h := OutcomeHead{
		Ordinal: ord, End: ends[b[0]], Class: classes[b[1]], Reason: known.of(b[headSize:]),
		ReasonedTurns: number(2), InvalidCalls: number(6), APICalls: number(10),
	}
	if at := int64(binary.BigEndian.Uint64(b[14:])); at != 0 {
		h.At = time.Unix(0, at).UTC()
	}
	return h, nil
}

func parseOutcome(tx reader, k, v []byte) (Outcome, error) {
	var o Outcome
	packed, err := unseal(k, v)
	if err != nil {
		return o, err
	}
	data, err := unpack(tx, packed)
	if err != nil {
		return o, mustExist(err)
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return o, damaged("%v", err)
	}
	return o, nil
}
