package db

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
)

// Registration says which batches the prompts from First on are in, up to the
// next registration's First: Size of them in each batch, from number Batch on.
type Registration struct{ First, Batch, Size int }

// batchOf returns the batch of a prompt that the registration holds.
func (r Registration) batchOf(index int) int { return r.Batch + (index-r.First)/r.Size }

// follows tells whether the registration can stand behind others: the prompts
// and batches have no gap between them.
func (r Registration) follows(regs []Registration) bool {
	if len(regs) == 0 {
		return r.Size > 0 && r.First == 0 && r.Batch == 0
	}
	last := regs[len(regs)-1]
	return r.Size > 0 && r.First > last.First && r.Batch == last.batchOf(r.First-1)+1
}

// Registrations returns all registrations in order.
func (s *Store) Registrations() ([]Registration, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.registrations), nil
}

// BatchOf returns the batch of a prompt, -1 if it was never sealed by a plan.
func (s *Store) BatchOf(index int) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if index < 0 || index >= s.sealed {
		return -1
	}
	n := sort.Search(len(s.registrations), func(i int) bool { return s.registrations[i].First > index })
	return s.registrations[n-1].batchOf(index)
}

// seal adds a registration for the prompts that have none, and returns all.
func (s *Store) seal(tx reader, next, batchSize int) ([]Registration, int, error) {
	s.mu.RLock()
	regs, sealed := slices.Clone(s.registrations), s.sealed
	s.mu.RUnlock()
	if sealed == next {
		return regs, sealed, nil
	}
	r := Registration{First: sealed, Size: batchSize}
	if len(regs) > 0 {
		r.Batch = regs[len(regs)-1].batchOf(sealed-1) + 1
	}
	regs = append(regs, r)
	meta := bucketMeta.of(tx)
	if err := meta.Put(keySealed, seal(keySealed, keyOfNumber(next))); err != nil {
		return nil, 0, err
	}
	return regs, next, meta.Put(keyRegistrations, seal(keyRegistrations, encodeRegistrations(regs)))
}

func encodeRegistrations(regs []Registration) []byte {
	var b []byte
	for _, r := range regs {
		for _, n := range []int{r.First, r.Batch, r.Size} {
			b = binary.BigEndian.AppendUint32(b, uint32(n))
		}
	}
	return b
}

func (s *Store) loadRegistrations(tx reader) error {
	regs, sealed, err := readRegistrations(tx)
	s.registrations, s.sealed = regs, sealed
	if err != nil {
		return err
	}
	return s.checkNumber(tx, sealed)
}

// checkNumber finds numbers of prompts that the file cannot hold: who reads the
// store takes memory by them.
func (s *Store) checkNumber(tx reader, sealed int) error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	switch n := registered(tx); {
	case int64(n) > info.Size()/int64(minPrompt):
		return damaged("the last prompt is number %d in a file of %d bytes", n-1, info.Size())
	case sealed > n:
		return damaged("%d prompts have batches, %d are registered", sealed, n)
	}
	return nil
}

func readRegistrations(tx reader) (regs []Registration, sealed int, err error) {
	value := bucketMeta.get(tx, keySealed)
	if value == nil && bucketMeta.get(tx, keyRegistrations) == nil {
		return nil, 0, nil
	}
	b, err := unseal(keySealed, value)
	if err != nil || len(b) != 4 {
		return nil, 0, damaged("number of sealed prompts")
	}
	sealed = int(binary.BigEndian.Uint32(b))
	b, err = unseal(keyRegistrations, bucketMeta.get(tx, keyRegistrations))
	if err != nil || len(b)%12 != 0 {
		return nil, 0, damaged("registrations")
	}
	for ; len(b) > 0; b = b[12:] {
		r := Registration{int(binary.BigEndian.Uint32(b)), int(binary.BigEndian.Uint32(b[4:])), int(binary.BigEndian.Uint32(b[8:]))}
		if !r.follows(regs) || r.First >= sealed {
			return nil, 0, damaged("registration %d", len(regs))
		}
		regs = append(regs, r)
	}
	if sealed > 0 && len(regs) == 0 {
		return nil, 0, damaged("registrations are missing")
	}
	return regs, sealed, nil
}

// dropPerWrite bounds one transaction of DropUnsealed.
const dropPerWrite = 5000

// DropUnsealed removes the prompts that were registered but never sealed by
// PutPlan, as a crash while registering leaves them. They never ran.
func (s *Store) DropUnsealed() error {
	for {
		left := false
		err := s.update(func(tx reader) error {
			s.mu.RLock()
			first := s.sealed
			s.mu.RUnlock()
			next := registered(tx)
			from := max(first, next-dropPerWrite)
			left = from > first
			for index := next - 1; index >= from; index-- {
				if err := dropPrompt(tx, index); err != nil {
					return fmt.Errorf("drop prompt %d: %w", index, err)
				}
			}
			return nil
		}, nil)
		if err != nil || !left {
			return err
		}
	}
}

func dropPrompt(tx reader, index int) error {
	key := keyOfNumber(index)
	head, err := parsePromptHead(bucketPrompts.get(tx, key))
	if err != nil {
		return err
	}
	if err := bucketIdentities.of(tx).Delete(keyOfHash(head.hash, head.copy)); err != nil {
		return err
	}
	return bucketPrompts.of(tx).Delete(key)
}
