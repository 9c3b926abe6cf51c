package db

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// All of a long result comes back piece by piece, and is in no conversation.
func TestFullOfAResult(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.db")
	s := sampleStore(t, path)
	register(t, s, 1)
	l := openLog(t, s, 1)
	l.Append(start(), gpt("calls"))
	pieces := [][]byte{incompressible(1 << 20), bytes.Repeat([]byte("a\x00\xff"), 1<<18), incompressible(1 << 20), []byte("end")}
	pieces[2] = pieces[0] // stored once
	r := &Result{Turn: 1, Name: "terminal", Parts: []Part{{Type: PartText, Text: "head … tail"}}}
	buffer := make([]byte, 1<<20)
	for _, p := range pieces {
		n := copy(buffer, p) // the caller's own memory, used again
		h, err := s.PutBlob(buffer[:n])
		if err != nil {
			t.Fatal(err)
		}
		r.Parts = append(r.Parts, Part{Type: PartFull, Blob: h})
	}
	mustWait(t, l.Append(r))
	closeSound(t, s)

	s = openStore(t, path, Options{ReadOnly: true})
	thread, err := s.Thread(1)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := thread[2].Decode()
	if err != nil {
		t.Fatal(err)
	}
	got := rec.(*Result)
	var full bytes.Buffer
	n, err := s.WriteFull(&full, got)
	if want := bytes.Join(pieces, nil); err != nil || n != int64(len(want)) || !bytes.Equal(full.Bytes(), want) {
		t.Errorf("%d bytes of %d, %v", n, len(want), err)
	}
	if entry, _ := thread[2].EntryJSON(); !strings.Contains(string(entry), `"value":"head … tail"`) || got.Text() != "head … tail" {
		t.Errorf("entry %.200s", entry)
	}
	if n, err := s.WriteFull(&full, &Result{Parts: []Part{{Type: PartText, Text: "all"}}}); n != 0 || err != nil {
		t.Errorf("of a result that shows all: %d, %v", n, err)
	}
	broken := errors.New("pipe")
	if n, err := s.WriteFull(brokenWriter{broken}, got); n != 0 || !errors.Is(err, broken) {
		t.Errorf("to a broken writer: %d, %v", n, err)
	}
	if _, err := s.WriteFull(&full, &Result{Parts: []Part{{Type: PartFull, Blob: Hash{9}}}}); !errors.Is(err, ErrDamaged) {
		t.Errorf("with a piece that is missing: %v", err)
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// A result that refers to what is not there is found by a check.
func TestCheckMissesPieces(t *testing.T) {
	s := sampleStore(t, filepath.Join(t.TempDir(), "run.db")) // not checked at the end
	defer s.Close()
	mustWait(t, openLog(t, s, 1).Append(start(), gpt("calls"), &Result{Turn: 1, Parts: []Part{{Type: PartFull, Blob: Hash{9}}}}))
	report, err := s.Check(t.Context(), true)
	if err != nil || report.Found != 1 || !strings.Contains(fmt.Sprint(report.Problems), "missing") {
		t.Errorf("%+v, %v", report, err)
	}
}
