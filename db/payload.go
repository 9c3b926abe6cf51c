package db

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// A payload is the kind's byte and a list of fields, each a length (four
// bytes, big endian) and that many bytes. The first field is JSON.

func (*Attempt) kind() Kind  { return KindAttempt }
func (*Sandbox) kind() Kind  { return KindSandbox }
func (*Turn) kind() Kind     { return KindTurn }
func (*Rejected) kind() Kind { return KindRejected }
func (*Result) kind() Kind   { return KindResult }
func (*Rerun) kind() Kind    { return KindRerun }
func (*Retry) kind() Kind    { return KindRetry }

func newRecord(k Kind) Record {
	switch k {
	case KindAttempt:
		return new(Attempt)
	case KindSandbox:
		return new(Sandbox)
	case KindTurn:
		return new(Turn)
	case KindRejected:
		return new(Rejected)
	case KindResult:
		return new(Result)
	case KindRerun:
		return new(Rerun)
	case KindRetry:
		return new(Retry)
	}
	return nil
}

func (r *Attempt) appendPayload(dst []byte) ([]byte, error) {
	c := *r
	c.At = c.At.UTC()
	return appendHead(dst, KindAttempt, &c)
}

func (r *Sandbox) appendPayload(dst []byte) ([]byte, error) {
	c := *r
	c.At, c.Started = c.At.UTC(), c.Started.UTC()
	return appendHead(dst, KindSandbox, &c)
}

func (r *Rerun) appendPayload(dst []byte) ([]byte, error) {
	c := *r
	c.At = c.At.UTC()
	return appendHead(dst, KindRerun, &c)
}

func (r *Retry) appendPayload(dst []byte) ([]byte, error) {
	c := *r
	c.At = c.At.UTC()
	return appendHead(dst, KindRetry, &c)
}

func (r *Turn) appendPayload(dst []byte) ([]byte, error) {
	c := *r
	c.At = c.At.UTC()
	dst, err := appendHead(dst, KindTurn, &c)
	if err != nil {
		return nil, err
	}
	dst, at := openField(dst)
	dst = closeField(r.Entry.AppendJSON(dst), at)
	return appendField(dst, r.Raw), nil
}

func (r *Rejected) appendPayload(dst []byte) ([]byte, error) {
	c := *r
	c.At = c.At.UTC()
	dst, err := appendHead(dst, KindRejected, &c)
	if err != nil {
		return nil, err
	}
	return appendField(dst, r.Raw), nil
}

func (r *Result) appendPayload(dst []byte) ([]byte, error) {
	c := *r
	c.At = c.At.UTC()
	dst, err := appendHead(dst, KindResult, &c)
	if err != nil {
		return nil, err
	}
	env := ""
	if r.Shell != nil {
		env = r.Shell.Env
	}
	dst = appendField(dst, env)
	for _, p := range r.Parts {
		dst = appendField(dst, p.Text)
	}
	return dst, nil
}

func (r *Attempt) parsePayload(f *fields) error { return f.json(r) }
func (r *Sandbox) parsePayload(f *fields) error { return f.json(r) }
func (r *Rerun) parsePayload(f *fields) error   { return f.json(r) }
func (r *Retry) parsePayload(f *fields) error   { return f.json(r) }

func (r *Turn) parsePayload(f *fields) error {
	if err := f.json(r); err != nil {
		return err
	}
	if err := f.json(&r.Entry); err != nil {
		return err
	}
	r.Raw = f.next()
	return nil
}

func (r *Rejected) parsePayload(f *fields) error {
	if err := f.json(r); err != nil {
		return err
	}
	r.Raw = f.next()
	return nil
}

func (r *Result) parsePayload(f *fields) error {
	if err := f.json(r); err != nil {
		return err
	}
	env := f.next()
	if r.Shell != nil {
		r.Shell.Env = string(env)
	}
	for i := range r.Parts {
		r.Parts[i].Text = string(f.next())
	}
	return nil
}

// Text is what the model and the row are shown: the text parts, a line end
// between them.
func (r *Result) Text() string {
	if len(r.Parts) == 1 && r.Parts[0].Type == PartText {
		return r.Parts[0].Text
	}
	var texts []string
	for _, p := range r.Parts {
		if p.Type == PartText {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// entry is what the result looks like in a conversation.
func (r *Result) entry() Entry {
	return Entry{From: "tool", Value: r.Text(), ToolCallID: r.CallID, Name: r.Name}
}

func appendHead(dst []byte, k Kind, record any) ([]byte, error) {
	head, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", k, err)
	}
	return appendField(append(dst, byte(k)), head), nil
}

func appendField[T []byte | string](dst []byte, field T) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(field)))
	return append(dst, field...)
}

// openField and closeField frame a field that is appended in place.
func openField(dst []byte) ([]byte, int) {
	return append(dst, 0, 0, 0, 0), len(dst)
}

func closeField(dst []byte, at int) []byte {
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// fields reads the fields of a payload; the first error stays.
type fields struct {
	rest []byte
	err  error
}

// next returns the next field, a part of the payload, nil once there is an error.
func (f *fields) next() []byte {
	if f.err != nil {
		return nil
	}
	if len(f.rest) < 4 {
		f.err = damaged("field cut")
		return nil
	}
	n := uint64(binary.BigEndian.Uint32(f.rest))
	if n > uint64(len(f.rest)-4) || n > math.MaxInt32 {
		f.err = damaged("field longer than its payload")
		return nil
	}
	field := f.rest[4 : 4+n : 4+n]
	f.rest = f.rest[4+n:]
	return field
}

func (f *fields) json(v any) error {
	field := f.next()
	if f.err != nil {
		return f.err
	}
	if err := json.Unmarshal(field, v); err != nil {
		return damaged("field: %v", err)
	}
	return nil
}

func (f *fields) end() error {
	if f.err == nil && len(f.rest) > 0 {
		f.err = damaged("%d bytes after the last field", len(f.rest))
	}
	return f.err
}

// parsePayload reads a payload as its kind's byte says.
func parsePayload(payload []byte) (Record, error) {
	if len(payload) == 0 {
		return nil, damaged("empty payload")
	}
	r := newRecord(Kind(payload[0]))
	if r == nil {
		return nil, damaged("kind %d", payload[0])
	}
	f := fields{rest: payload[1:]}
	if err := r.parsePayload(&f); err != nil {
		return nil, err
	}
	if err := f.end(); err != nil {
		return nil, err
	}
	return r, nil
}
