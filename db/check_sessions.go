package db

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// prompts checks that indices have no gaps and that each prompt's identity
// leads back to it; deep, that its hashes are those of its content.
func (c *checker) prompts() error {
	return c.scan(bucketPrompts, func(tx reader, k, v []byte) error {
		index := c.report.Prompts
		c.report.Prompts++
		if len(k) != indexKey || int(binary.BigEndian.Uint32(k)) != index {
			return damaged("prompt key %.40x where %d belongs", k, index)
		}
		if err := c.prompt(tx, k, v); err != nil {
			return fmt.Errorf("prompt %d: %w", index, err)
		}
		return nil
	})
}

func (c *checker) prompt(tx reader, k, v []byte) error {
	head, err := parsePromptHead(v)
	if err != nil {
		return err
	}
	if _, err := unseal(k, v); err != nil {
		return err
	}
	if !bytes.Equal(bucketIdentities.get(tx, keyOfHash(head.hash, head.copy)), k) {
		return damaged("its identity leads elsewhere")
	}
	if !c.deep {
		return nil
	}
	p, err := parsePrompt(tx, k, v)
	if err != nil {
		return err
	}
	if PromptHash(p.Text, p.Image, p.Cwd) != head.hash || Hash(sha256.Sum256(p.Extra)) != head.extra {
		return damaged("hash differs")
	}
	return nil
}

// identities checks that each leads to a prompt that has it.
func (c *checker) identities() error {
	return c.scan(bucketIdentities, func(tx reader, k, v []byte) error {
		if len(k) != identityKey || len(v) != indexKey {
			return damaged("identity %.40x", k)
		}
		head, err := parsePromptHead(bucketPrompts.get(tx, v))
		if err != nil || !bytes.Equal(keyOfHash(head.hash, head.copy), k) {
			return damaged("identity %x leads to prompt %d, which has another", k, binary.BigEndian.Uint32(v))
		}
		return nil
	})
}

// walkTurns is where a scan of the steps has got to.
type walkTurns struct {
	ordinal         Ordinal
	attempt, number int
	hash            Hash
	lost            bool // the rest of this session cannot be judged
}

// turns checks that the steps of each session have no gaps and form a chain.
func (c *checker) turns() error {
	at := walkTurns{lost: true}
	return c.scan(bucketTurns, func(tx reader, k, v []byte) error {
		c.report.Steps++
		o, attempt, number, ok := parseStepKey(k)
		if !ok {
			return damaged("step key %.40x", k)
		}
		if c.report.Sessions == 0 || o != at.ordinal {
			c.report.Sessions++
			at = walkTurns{ordinal: o, attempt: 0, number: -1}
			if bucketPrompts.get(tx, keyOfNumber(o.Index())) == nil {
				at.lost = true
				return damaged("%s has steps and is not registered", o)
			}
		}
		if at.lost {
			return nil
		}
		err := c.step(tx, &at, attempt, number, v)
		at.lost = err != nil
		return err
	})
}

// step checks one step, which at precedes.
func (c *checker) step(tx reader, at *walkTurns, attempt, number int, value []byte) error {
	o := at.ordinal
	first := number == 0 && (attempt == at.attempt+1 || at.number < 0 && attempt == 0)
	if !first && (attempt != at.attempt || number != at.number+1) {
		return stepError(o, attempt, number, damaged("steps before it are missing"))
	}
	h, _, err := parseHeader(value)
	if err != nil {
		return stepError(o, attempt, number, err)
	}
	if first != (h.kind == KindAttempt) || newRecord(h.kind) == nil {
		return stepError(o, attempt, number, damaged("kind %d in this place", h.kind))
	}
	parent := at.hash
	at.attempt, at.number, at.hash = attempt, number, h.hash
	if first {
		if parent, err = c.origin(tx, o, attempt); err != nil {
			return err
		}
	}
	if h.parent != parent {
		return stepError(o, attempt, number, damaged("does not follow the step before"))
	}
	if c.deep {
		return c.record(tx, o, attempt, number, value)
	}
	return nil
}

// origin returns what an attempt's first step has to chain from.
func (c *checker) origin(tx reader, o Ordinal, attempt int) (Hash, error) {
	a, err := readAttempt(tx, o, attempt)
	if err != nil {
		return Hash{}, err
	}
	if a.Parent < 0 {
		return headOf(tx, o)
	}
	if a.Parent >= attempt {
		return Hash{}, stepError(o, attempt, 0, damaged("forks from attempt %d", a.Parent))
	}
	h, _, err := parseHeader(bucketTurns.get(tx, keyOfStep(o, a.Parent, a.ForkStep)))
	if err != nil {
		return Hash{}, stepError(o, attempt, 0, damaged("forks from a step that does not exist"))
	}
	return h.hash, nil
}

// record opens a step and looks up what it refers to.
func (c *checker) record(tx reader, o Ordinal, attempt, number int, value []byte) error {
	st, err := openStep(tx, o, attempt, number, value)
	if err != nil {
		return err
	}
	r, err := st.Decode()
	if err != nil {
		return err
	}
	var settings, blobs []Hash
	switch r := r.(type) {
	case *Attempt:
		settings, blobs = []Hash{r.Settings}, []Hash{r.Tools}
	case *Retry:
		settings, blobs = []Hash{r.Settings}, []Hash{r.Tools}
	case *Result:
		for _, p := range r.Parts {
			blobs = append(blobs, p.Blob)
		}
	}
	for _, h := range settings {
		if !h.IsZero() && bucketSettings.get(tx, h[:]) == nil {
			return stepError(o, attempt, number, damaged("settings %s are missing", h))
		}
	}
	for _, h := range blobs {
		if !h.IsZero() && bucketBlobs.get(tx, keyOfHash(h, 0)) == nil {
			return stepError(o, attempt, number, damaged("blob %s is missing", h))
		}
	}
	return nil
}

// outcomes checks that each has a head and a whole, and a prompt; deep, that
// they agree with each other and with the steps.
func (c *checker) outcomes() error {
	known := reasons{}
	return c.scan(bucketOutcomes, func(tx reader, k, v []byte) error {
		if len(k) != outcomeKey || k[0] != outcomeHead && k[0] != outcomeWhole {
			return damaged("outcome key %.40x", k)
		}
		o := Ordinal(binary.BigEndian.Uint64(k[1:]))
		if k[0] == outcomeHead {
			c.report.Outcomes++
			if _, err := parseOutcomeHead(k, v, known); err != nil {
				return err
			}
		}
		if err := c.outcome(tx, o, k, v); err != nil {
			return fmt.Errorf("outcome of %s: %w", o, err)
		}
		return nil
	})
}

func (c *checker) outcome(tx reader, o Ordinal, k, v []byte) error {
	other := keyOfOutcome(outcomeHead+outcomeWhole-k[0], o)
	head := bucketOutcomes.get(tx, other)
	if head == nil {
		return damaged("half of it is missing")
	}
	if bucketPrompts.get(tx, keyOfNumber(o.Index())) == nil {
		return damaged("its prompt is not registered")
	}
	if k[0] == outcomeHead {
		return nil
	}
	if _, err := unseal(k, v); err != nil || !c.deep {
		return err
	}
	out, err := parseOutcome(tx, k, v)
	if err != nil {
		return err
	}
	if want, err := encodeHead(HeadOf(o, &out)); err != nil || !bytes.Equal(seal(other, want), head) {
		return damaged("its head says something else")
	}
	if out.Attempt < 0 {
		return nil
	}
	h, _, err := parseHeader(bucketTurns.get(tx, keyOfStep(o, out.Attempt, out.Steps-1)))
	if err != nil || h.hash != out.Head {
		return damaged("it follows a step that does not exist")
	}
	return nil
}

// blobs checks that the chunks of each are there; deep, their hashes.
func (c *checker) blobs() error {
	var current Hash
	more, next := false, uint32(0)
	err := c.scan(bucketBlobs, func(tx reader, k, v []byte) error {
		if len(k) != blobKey || len(v) < 1 || v[0] > chunkMore {
			return damaged("blob chunk %.40x", k)
		}
		h, n := Hash(k[:len(Hash{})]), binary.BigEndian.Uint32(k[len(Hash{}):])
		was, expected := more, next
		same := h == current && c.report.Blobs > 0
		current, more, next = h, v[0] == chunkMore, n+1
		if was != same || same && n != expected || !same && n != 0 {
			return damaged("blob %s, or the one before it, lacks a chunk", h)
		}
		if n != 0 {
			return nil
		}
		c.report.Blobs++
		if !c.deep {
			return nil
		}
		_, err := readBlob(tx, h)
		return err
	})
	if err == nil && more {
		c.problem("blob %s lacks its last chunk", current)
	}
	return err
}
