package db

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// sampleFiles are a sound file as a crash leaves it and as the program does, and
// the newest meta page of the latter.
func sampleFiles(f *testing.F) (crashed, closed []byte, m metaPage) {
	s := sampleStore(f, filepath.Join(f.TempDir(), "run.db"))
	crashed = usedPart(f, s.Path())
	closeSound(f, s)
	closed = usedPart(f, s.Path())
	m, _, err := newestMeta(bytes.NewReader(closed))
	if err != nil {
		f.Fatal(err)
	}
	return crashed, closed, m
}

// FuzzWalk patches a sound file and walks it.
func FuzzWalk(f *testing.F) {
	crashed, closed, m := sampleFiles(f)
	root := uint32(m.root) * uint32(m.pageSize)
	f.Add(root, []byte{}, true)
	f.Add(root+8, []byte{flagBranch, 0, 0xff, 0xff}, true)
	f.Add(root+12, []byte{0xff, 0xff, 0xff, 0xff}, false)
	f.Add(root+pageHeadSize+4, []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, false)
	f.Add(uint32(0), make([]byte, 4096), true)
	f.Fuzz(func(t *testing.T, at uint32, patch []byte, isClosed bool) {
		data := bytes.Clone(crashed)
		if isClosed {
			data = bytes.Clone(closed)
		}
		copy(data[int(at)%len(data):], patch)
		r := bytes.NewReader(data)
		m, _, err := newestMeta(r)
		if err != nil {
			return
		}
		for _, w := range []*walker{newWalker(r, int64(len(data)), m, true), newWalker(r, int64(len(data)), m, false)} {
			w.strict = w.full
			w.walk()
		}
	})
}

func FuzzUnpack(f *testing.F) {
	s := sampleStore(f, filepath.Join(f.TempDir(), "run.db"))
	f.Cleanup(func() { closeSound(f, s) })
	for _, raw := range [][]byte{nil, []byte("short"), bytes.Repeat([]byte("long "), 100), incompressible(100)} {
		f.Add(pack(nil, raw))
	}
	f.Add([]byte{codecSpilled, 0, 0, 0, 1, 2})
	f.Add(append([]byte{codecZstd, 0x3f, 0xff, 0xff, 0xff}, pack(nil, bytes.Repeat([]byte("long "), 100))[5:]...))
	f.Fuzz(func(t *testing.T, packed []byte) {
		_ = s.view(func(tx reader) error {
			raw, err := unpack(tx, packed)
			if err == nil && len(raw) > 0 && len(packed) < packedHead {
				t.Errorf("%x gave %d bytes", packed, len(raw))
			}
			if _, err := openStep(tx, 0, 0, 0, packed); err == nil {
				t.Errorf("%x is a step", packed)
			}
			_, _ = parsePrompt(tx, keyOfNumber(0), seal(keyOfNumber(0), bytes.Clone(packed)))
			return nil
		})
	})
}

// FuzzOpen patches a sound file in two places, mends the checksum of what that
// made of its meta pages, and does with it all that can be done with a store.
func FuzzOpen(f *testing.F) {
	crashed, closed, m := sampleFiles(f)
	root := uint32(m.root) * uint32(m.pageSize)
	f.Add(root+8, []byte{flagBranch, 0}, uint32(0), []byte{}, true)
	f.Add(uint32(metaOffset+16), []byte{3}, uint32(m.pageSize)+metaOffset+16, []byte{3}, true)
	f.Add(uint32(metaOffset+8), []byte{3}, uint32(m.pageSize)+metaOffset+16, []byte{3}, true) // page size
	f.Add(uint32(metaOffset+40), []byte{0xff, 0xff, 0xff, 0xff}, uint32(m.pageSize)+metaOffset+48, []byte{0xff}, false)
	f.Add(root+12, []byte{1}, root+pageHeadSize, []byte{1, 0, 0, 0, 0xff}, false)
	path := filepath.Join(f.TempDir(), "hostile.db")
	f.Fuzz(func(t *testing.T, at uint32, patch []byte, at2 uint32, patch2 []byte, isClosed bool) {
		data := bytes.Clone(crashed)
		if isClosed {
			data = bytes.Clone(closed)
		}
		copy(data[int(at)%len(data):], patch)
		copy(data[int(at2)%len(data):], patch2)
		for page := range int64(2) {
			sealMeta(data[page*m.pageSize:])
		}
		examine(t, path, data)
	})
}

// sealMeta gives a meta page the checksum of its content.
func sealMeta(page []byte) {
	meta := page[metaOffset : metaOffset+metaSize]
	sum := fnv.New64a()
	sum.Write(meta[:metaSize-8])
	binary.NativeEndian.PutUint64(meta[metaSize-8:], sum.Sum64())
}

// FuzzContent puts a value into sound pages as somebody would who knows the
// format and means harm: with the checksum and the hashes that belong to it.
func FuzzContent(f *testing.F) {
	s := sampleStore(f, filepath.Join(f.TempDir(), "sample.db"))
	var keys [bucketCount][][]byte
	err := s.view(func(tx reader) error {
		for b := range bucketCount {
			err := b.of(tx).ForEach(func(k, v []byte) error {
				f.Add(uint8(b), uint8(len(keys[b])), bytes.Clone(v[:max(0, len(v)-sumSize)]), dressSealed)
				keys[b] = append(keys[b], bytes.Clone(k))
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	for i, r := range everyRecord() {
		payload, err := r.appendPayload(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(bucketTurns), uint8(i), payload, dressStep)
	}
	f.Add(uint8(bucketOutcomes), uint8(1), []byte(`{"end":"completed","attempt":99999,"steps":-1}`), dressPacked)
	closeSound(f, s)
	sound := usedPart(f, s.Path())
	path := filepath.Join(f.TempDir(), "hostile.db")
	f.Fuzz(func(t *testing.T, bucketNumber, keyNumber uint8, value []byte, dress uint8) {
		b := bucket(bucketNumber) % bucketCount
		if len(keys[b]) == 0 || len(value) > 1<<20 {
			return
		}
		key := keys[b][int(keyNumber)%len(keys[b])]
		writeFile(t, path, sound)
		changeStore(t, path, func(tx *bolt.Tx) error {
			in := b.of(reader{tx})
			return in.Put(key, dressed(key, in.Get(key), value, dress))
		})
		examine(t, path, readFile(t, path))
	})
}

// How a hostile value is dressed up.
const (
	dressNot    uint8 = iota
	dressSealed       // with its checksum
	dressPacked       // compressed, and with its checksum
	dressStep         // as the payload of a step
)

func dressed(key, old, value []byte, dress uint8) []byte {
	switch dress {
	case dressSealed:
		return seal(key, value)
	case dressPacked:
		return seal(key, pack(nil, value))
	case dressStep:
		h, _, err := parseHeader(old)
		if err != nil || len(value) == 0 {
			return value
		}
		h.kind, h.hash = Kind(value[0]), stepHash(h.parent, value)
		return pack(appendHeader(nil, h), value)
	}
	return value
}
