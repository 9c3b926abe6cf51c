package db

import (
	"bytes"
	"path/filepath"
	"testing"
)

func FuzzWalk(f *testing.F) {
	s := sampleStore(f, filepath.Join(f.TempDir(), "run.db"))
	crashed := usedPart(f, s.Path())
	closeSound(f, s)
	for _, data := range [][]byte{crashed, usedPart(f, s.Path())} {
		f.Add(data, uint32(0), byte(0))
		f.Add(data, uint32(0x2010), byte(0xff))
	}
	f.Add([]byte{}, uint32(0), byte(0))
	f.Fuzz(func(t *testing.T, data []byte, at uint32, flip byte) {
		if len(data) > 0 {
			data = bytes.Clone(data)
			data[int(at)%len(data)] ^= flip
		}
		r := bytes.NewReader(data)
		m, _, err := newestMeta(r)
		if err != nil {
			return
		}
		newWalker(r, int64(len(data)), m, true).walk()
		newWalker(r, int64(len(data)), m, false).walk()
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
