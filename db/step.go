package db

import (
	"encoding/json"
	"fmt"
)

// Step is one committed step of a session, verified against its hash.
type Step struct {
	Ordinal  Ordinal
	Attempt  int // the attempt in which the step was made
	Number   int // its number there, 0 is the *Attempt
	Position int // its index in the thread that it was read with
	Kind     Kind
	Parent   Hash
	Hash     Hash
	payload  []byte
}

// A stored step is kind (1) ‖ hash (32) ‖ parent (32) ‖ packed payload.
const stepHead = 1 + 2*len(Hash{})

// header is what a stored step says before its payload.
type header struct {
	kind         Kind
	hash, parent Hash
}

func appendHeader(dst []byte, h header) []byte {
	dst = append(dst, byte(h.kind))
	dst = append(dst, h.hash[:]...)
	return append(dst, h.parent[:]...)
}

func parseHeader(value []byte) (h header, packed []byte, err error) {
	if len(value) < stepHead+packedHead {
		return header{}, nil, damaged("step of %d bytes", len(value))
	}
	h = header{kind: Kind(value[0]), hash: Hash(value[1:33]), parent: Hash(value[33:65])}
	return h, value[stepHead:], nil
}

// openStep unpacks and verifies a stored step.
func openStep(tx reader, o Ordinal, attempt, number int, value []byte) (Step, error) {
	h, packed, err := parseHeader(value)
	if err != nil {
		return Step{}, stepError(o, attempt, number, err)
	}
	payload, err := unpack(tx, packed)
	if err != nil {
		return Step{}, stepError(o, attempt, number, mustExist(err))
	}
	if stepHash(h.parent, payload) != h.hash || len(payload) == 0 || Kind(payload[0]) != h.kind {
		return Step{}, stepError(o, attempt, number, damaged("hash differs"))
	}
	return Step{
		Ordinal: o, Attempt: attempt, Number: number,
		Kind: h.kind, Parent: h.parent, Hash: h.hash, payload: payload,
	}, nil
}

func stepError(o Ordinal, attempt, number int, err error) error {
	return fmt.Errorf("%s attempt %d step %d: %w", o, attempt, number, err)
}

// Decode returns the step's record. Its byte slices share the step's memory.
func (st Step) Decode() (Record, error) {
	r, err := parsePayload(st.payload)
	if err != nil {
		return nil, stepError(st.Ordinal, st.Attempt, st.Number, err)
	}
	return r, nil
}

// EntryJSON returns the step's message as a JSON object, ready to be rendered,
// and false for steps that are no messages: a turn's stored bytes, or what a
// result looks like in a conversation.
func (st Step) EntryJSON() (json.RawMessage, bool) {
	switch st.Kind {
	case KindTurn:
		f := fields{rest: st.payload[1:]}
		f.next()
		entry := f.next()
		return entry, f.err == nil
	case KindResult:
		var r Result
		f := fields{rest: st.payload[1:]}
		if r.parsePayload(&f) != nil {
			return nil, false
		}
		return r.entry().AppendJSON(nil), true
	}
	return nil, false
}

// encodeStep makes the put of one step, and those of what it spills. scratch
// holds the payload meanwhile and is returned to be used again.
func encodeStep(o Ordinal, attempt, number int, parent Hash, r Record, scratch []byte) (puts []put, h Hash, rest []byte, err error) {
	payload, err := r.appendPayload(scratch[:0])
	if err != nil {
		return nil, h, scratch, err
	}
	h = stepHash(parent, payload)
	value := make([]byte, 0, stepHead+packedHead+len(payload)/2+64)
	value = appendHeader(value, header{r.kind(), h, parent})
	value, puts, err = packInline(value, payload)
	if err != nil {
		return nil, h, payload, stepError(o, attempt, number, err)
	}
	return append(puts, put{bucketTurns, keyOfStep(o, attempt, number), value}), h, payload, nil
}

// lastStep finds the last step of a session's last attempt.
func lastStep(tx reader, o Ordinal) (attempt, number int, value []byte, ok bool) {
	c := bucketTurns.of(tx).Cursor()
	k, _ := c.Seek(keyOfOrdinal(o + 1))
	if k == nil {
		k, value = c.Last()
	} else {
		k, value = c.Prev()
	}
	found, attempt, number, ok := parseStepKey(k)
	if !ok || found != o {
		return 0, 0, nil, false
	}
	return attempt, number, value, true
}
