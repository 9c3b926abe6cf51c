package db

import (
	"bytes"
	"path/filepath"
	"testing"
)

// FuzzWalk patches a sound file and walks it.
func FuzzWalk(f *testing.F) {
	s := sampleStore(f, filepath.Join(f.TempDir(), "run.db"))
	crashed := usedPart(f, s.Path())
	closeSound(f, s)
	closed := usedPart(f, s.Path())
	m, _, err := newestMeta(bytes.NewReader(closed))
	if err != nil {
		f.Fatal(err)
	}
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
