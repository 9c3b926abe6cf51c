package db

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"testing"
)

// TestFileStaysSmall writes sessions whose bytes do not compress, with and
// without somebody who reads all the while, and compares the file with what
// was written.
func TestFileStaysSmall(t *testing.T) {
	const sessions, turns, size = 32, 10, 10 << 10
	for _, reading := range []bool{false, true} {
		s := newStore(t)
		register(t, s, sessions)
		var stop atomic.Bool
		var readers, writers sync.WaitGroup
		if reading {
			readers.Go(func() {
				for i := 0; !stop.Load(); i++ {
					if _, err := s.Thread(MakeOrdinal(i%sessions, 0)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		data := incompressible(sessions * turns * size)
		for w := range sessions {
			l := openLog(t, s, MakeOrdinal(w, 0))
			writers.Go(func() {
				l.Append(start())
				for n := range turns {
					at := (w*turns + n) * size
					if err := l.Append(&Turn{Entry: Entry{From: "gpt"}, Raw: data[at : at+size]}).Wait(context.Background()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		writers.Wait()
		stop.Store(true)
		readers.Wait()
		info, err := os.Stat(s.Path())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("reading %v: %d bytes for %d", reading, info.Size(), len(data))
		if info.Size()-growth > 2*int64(len(data)) {
			t.Errorf("reading %v: %d bytes for %d", reading, info.Size(), len(data))
		}
	}
}
