package db

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Prompt is a registered prompt. Its content (Text, Image, Cwd) and its copy
// number are its identity; Index is where it was registered.
type Prompt struct {
	Index int
	Batch int // from the registrations, -1 until the plan is sealed; not stored
	Copy  uint32
	Hash  Hash // PromptHash of the content
	Text  string
	Image string
	Cwd   string
	Extra []byte // raw JSON object of the row's other keys, "{}" if none
}

// Copy is what is known of one registered copy of a content.
type Copy struct {
	Index    int
	Copy     uint32
	Extra    Hash // SHA-256 of Prompt.Extra
	Finished bool // has an outcome other than failed
	Steps    int  // length of its thread: how far it got
}

// A stored prompt is copy (4) ‖ hash (32) ‖ SHA-256 of extra (32) ‖ packed
// fields text, image, cwd, extra ‖ checksum.
const promptHead = 4 + 2*len(Hash{})

// minPrompt is the least room that a prompt has in the file, in bytes.
const minPrompt = elementSize + indexKey + promptHead + packedHead + sumSize

type promptHeader struct {
	copy  uint32
	hash  Hash
	extra Hash
}

func parsePromptHead(value []byte) (promptHeader, error) {
	if len(value) < promptHead+packedHead+sumSize {
		return promptHeader{}, damaged("prompt of %d bytes", len(value))
	}
	return promptHeader{binary.BigEndian.Uint32(value), Hash(value[4:36]), Hash(value[36:68])}, nil
}

func encodePrompt(key []byte, p *Prompt) ([]byte, []put, error) {
	extra := sha256.Sum256(p.Extra)
	value := binary.BigEndian.AppendUint32(nil, p.Copy)
	value = append(append(value, p.Hash[:]...), extra[:]...)
	var raw []byte
	for _, f := range []string{p.Text, p.Image, p.Cwd} {
		raw = appendField(raw, f)
	}
	value, puts, err := packInline(value, appendField(raw, p.Extra))
	if err != nil {
		return nil, nil, err
	}
	return seal(key, value), puts, nil
}

func parsePrompt(tx reader, key, value []byte) (Prompt, error) {
	head, err := parsePromptHead(value)
	if err != nil {
		return Prompt{}, err
	}
	body, err := unseal(key, value)
	if err != nil {
		return Prompt{}, err
	}
	raw, err := unpack(tx, body[promptHead:])
	if err != nil {
		return Prompt{}, mustExist(err)
	}
	f := fields{rest: raw}
	p := Prompt{Index: int(binary.BigEndian.Uint32(key)), Batch: -1, Copy: head.copy, Hash: head.hash}
	p.Text, p.Image, p.Cwd, p.Extra = string(f.next()), string(f.next()), string(f.next()), f.next()
	return p, f.end()
}

// Prompt returns a registered prompt, or ErrNotFound.
func (s *Store) Prompt(index int) (Prompt, error) {
	var p Prompt
	key := keyOfNumber(index)
	err := s.view(func(tx reader) (err error) {
		value := bucketPrompts.get(tx, key)
		if value == nil || index < 0 || index > maxIndex {
			return ErrNotFound
		}
		p, err = parsePrompt(tx, key, value)
		return err
	})
	if err != nil {
		return Prompt{}, fmt.Errorf("prompt %d: %w", index, err)
	}
	p.Batch = s.BatchOf(index)
	return p, nil
}

// NextIndex returns the number of registered prompts, which is the next free
// index.
func (s *Store) NextIndex() (int, error) {
	n := 0
	err := s.view(func(tx reader) error {
		n = registered(tx)
		return nil
	})
	return n, err
}

func registered(tx reader) int {
	k, _ := bucketPrompts.of(tx).Cursor().Last()
	if len(k) != indexKey {
		return 0
	}
	return int(binary.BigEndian.Uint32(k)) + 1
}

// Copies returns all registered copies of a content, by copy number.
func (s *Store) Copies(h Hash) ([]Copy, error) {
	var copies []Copy
	err := s.view(func(tx reader) error {
		c := bucketIdentities.of(tx).Cursor()
		for k, v := c.Seek(h[:]); bytes.HasPrefix(k, h[:]); k, v = c.Next() {
			if len(k) != identityKey || len(v) != indexKey {
				return damaged("identity %x", k)
			}
			known, err := readCopy(tx, int(binary.BigEndian.Uint32(v)))
			if err != nil {
				return err
			}
			copies = append(copies, known)
		}
		return nil
	})
	return copies, err
}

func readCopy(tx reader, index int) (Copy, error) {
	value := bucketPrompts.get(tx, keyOfNumber(index))
	head, err := parsePromptHead(value)
	if err != nil {
		return Copy{}, fmt.Errorf("prompt %d: %w", index, err)
	}
	c := Copy{Index: index, Copy: head.copy, Extra: head.extra}
	o := MakeOrdinal(index, 0)
	key := keyOfOutcome(outcomeHead, o)
	if value := bucketOutcomes.get(tx, key); value != nil {
		h, err := parseOutcomeHead(key, value, reasons{})
		if err != nil {
			return Copy{}, err
		}
		c.Finished = h.End != EndFailed
	}
	c.Steps, err = threadLength(tx, o)
	return c, err
}

func threadLength(tx reader, o Ordinal) (int, error) {
	attempt, last, _, ok := lastStep(tx, o)
	if !ok {
		return 0, nil
	}
	spans, err := lineage(tx, o, attempt, last)
	return length(spans), err
}

// PutPrompts registers prompts whose Index is free, which must follow each
// other from NextIndex on, and gives known ones their new Extra, all in one
// durable transaction. The caller keeps it small: some thousand prompts or some
// megabytes. New ones get a batch when PutPlan seals them.
func (s *Store) PutPrompts(prompts []Prompt) error {
	values := make([][]byte, len(prompts))
	var spilled []put
	for i := range prompts {
		p := &prompts[i]
		if p.Index < 0 || p.Index > maxIndex {
			return fmt.Errorf("register prompt %d: %w", p.Index, ErrTooLarge)
		}
		value, puts, err := encodePrompt(keyOfNumber(p.Index), p)
		if err != nil {
			return fmt.Errorf("register prompt %d: %w", p.Index, err)
		}
		values[i] = value
		spilled = append(spilled, puts...)
	}
	return s.update(func(tx reader) error {
		next := registered(tx)
		identities := make([]put, 0, len(prompts))
		for i := range prompts {
			id, err := putPrompt(tx, &prompts[i], values[i], &next)
			if err != nil {
				return fmt.Errorf("register prompt %d: %w", prompts[i].Index, err)
			}
			if id.key != nil {
				identities = append(identities, id)
			}
		}
		sortPuts(identities)
		for i := 1; i < len(identities); i++ {
			if bytes.Equal(identities[i-1].key, identities[i].key) {
				return fmt.Errorf("register prompts: %w: the same copy of a content twice", ErrConflict)
			}
		}
		return apply(tx, append(identities, spilled...))
	}, nil)
}

// putPrompt writes a prompt, and returns the put of its identity if it is new.
func putPrompt(tx reader, p *Prompt, value []byte, next *int) (put, error) {
	key := keyOfNumber(p.Index)
	id := put{bucketIdentities, keyOfHash(p.Hash, p.Copy), key}
	in := bucketPrompts.of(tx)
	in.FillPercent = 1 // indices only grow
	switch {
	case p.Index > *next:
		return put{}, fmt.Errorf("%w: the next free index is %d", ErrConflict, *next)
	case p.Index == *next:
		if bucketIdentities.get(tx, id.key) != nil {
			return put{}, fmt.Errorf("%w: copy %d of this content is registered", ErrConflict, p.Copy)
		}
		*next++
		return id, in.Put(key, value)
	}
	if !bytes.Equal(bucketIdentities.get(tx, id.key), key) {
		return put{}, fmt.Errorf("%w: another prompt has this index", ErrConflict)
	}
	return put{}, in.Put(key, value)
}
