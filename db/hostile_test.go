package db

import (
	"bytes"
	"encoding/binary"
	"errors"
	"path/filepath"
	"runtime"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// A store of some kilobytes that says it has four billion prompts or batches
// makes nobody take memory for them.
func TestHostileNumbers(t *testing.T) {
	dir := t.TempDir()
	s := sampleStore(t, filepath.Join(dir, "sample.db"))
	closeSound(t, s)
	sound := usedPart(t, s.Path())
	sealed := func(key []byte, numbers ...uint32) func(*bolt.Tx) error {
		var value []byte
		for _, n := range numbers {
			value = binary.BigEndian.AppendUint32(value, n)
		}
		return func(tx *bolt.Tx) error { return bucketMeta.of(reader{tx}).Put(key, seal(key, value)) }
	}
	const most = 1<<32 - 1
	for name, change := range map[string]func(*bolt.Tx) error{
		"sealed prompts":           sealed(keySealed, most),
		"first batch":              sealed(keyRegistrations, 0, most, 1),
		"batch of a later prompt":  sealed(keyRegistrations, 0, 0, 1, 1, most, 1),
		"registrations with a gap": sealed(keyRegistrations, 0, 0, 2, 1, 2, 1),
		"last prompt": func(tx *bolt.Tx) error {
			in := bucketPrompts.of(reader{tx})
			return in.Put(keyOfNumber(most), in.Get(keyOfNumber(0)))
		},
	} {
		path := filepath.Join(dir, "hostile.db")
		writeFile(t, path, sound)
		changeStore(t, path, change)
		if s, err := Open(path, Options{ReadOnly: true}); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				s.Close()
			}
		}
	}
}

// Rows of a plan and outcomes are of prompts that are registered, so that sets
// of them take no more memory than these do.
func TestHostileIndices(t *testing.T) {
	dir := t.TempDir()
	s := sampleStore(t, filepath.Join(dir, "sample.db"))
	closeSound(t, s)
	sound := usedPart(t, s.Path())
	const most = 1<<32 - 1
	for name, change := range map[string]func(*bolt.Tx) error{
		"plan": func(tx *bolt.Tx) error {
			key := keyOfPage(planRows, 0)
			return bucketPlan.of(reader{tx}).Put(key, seal(key, []byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}))
		},
		"outcomes": func(tx *bolt.Tx) error {
			puts, err := encodeOutcome(MakeOrdinal(most, 0), &Outcome{End: "completed", Attempt: -1})
			return errors.Join(err, apply(reader{tx}, puts))
		},
	} {
		path := filepath.Join(dir, name+".db")
		writeFile(t, path, sound)
		changeStore(t, path, change)
		s, err := Open(path, Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		_, planned := s.Planned()
		heads := s.OutcomeHeads(0, func(OutcomeHead) bool { return true })
		outcomes := s.Outcomes(0, func(Ordinal, Outcome) error { return nil })
		if (name == "plan") != errors.Is(planned, ErrDamaged) || (name == "outcomes") != (errors.Is(heads, ErrDamaged) && errors.Is(outcomes, ErrDamaged)) {
			t.Errorf("%s: %v, %v, %v", name, planned, heads, outcomes)
		}
	}
}

// A frame makes nobody take more memory than its length allows.
func TestFrameThatClaimsTooMuch(t *testing.T) {
	s := newStore(t)
	frame := pack(nil, bytes.Repeat([]byte{0}, 1<<20))[packedHead:]
	if len(frame) > 1000 {
		t.Fatalf("a megabyte of zeros has %d bytes", len(frame))
	}
	for _, claim := range []uint32{(1 << 20) - 1, (1 << 20) + 1, 1 << 24, 1 << 29, maxRaw} {
		hostile := bytes.Clone(frame)
		head := binary.LittleEndian.Uint32(hostile[5:])
		if head != 1<<20 { // magic, descriptor, size
			t.Fatalf("the frame says %d", head)
		}
		binary.LittleEndian.PutUint32(hostile[5:], claim)
		packed := binary.BigEndian.AppendUint32([]byte{codecZstd}, claim)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := s.view(func(tx reader) error {
			_, err := unpack(tx, append(packed, hostile...))
			return err
		})
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%d bytes: %v", claim, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
			t.Errorf("%d bytes: it took %d bytes of memory", claim, took)
		}
	}
}

// A session that unfolds to more than memory should hold is refused by name.
func TestThreadIsBounded(t *testing.T) {
	defer func(most int) { maxThread = most }(maxThread)
	maxThread = 1 << 20
	s := newStore(t)
	register(t, s, 1)
	l, err := s.Log(0)
	if err != nil {
		t.Fatal(err)
	}
	mustWait(t, l.Append(start(), &Rejected{Raw: make([]byte, 1<<19)}))
	if _, err := s.Thread(0); err != nil {
		t.Error(err)
	}
	mustWait(t, l.Append(&Rejected{Raw: make([]byte, 1<<19)}))
	if _, err := s.Thread(0); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}
