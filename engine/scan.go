package engine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"slices"

	"hermes-batch/db"
)

// scan is what one pass over a dataset tells: enough to match rows to prompts
// in a second pass, in 28 bytes a row.
type scan struct {
	digest db.Hash
	rows   []rowKey // valid rows in file order
	order  []uint32 // row numbers sorted by content, then by row number
	bad    []db.BadLine
}

// rowKey identifies a row's content and its other keys by hash prefixes.
type rowKey struct {
	content [16]byte
	extra   [8]byte
}

func (r *row) key() (k rowKey) {
	h := r.hash()
	extra := sha256.Sum256(r.extra)
	copy(k.content[:], h[:])
	copy(k.extra[:], extra[:])
	return k
}

// scanDataset reads the whole file once. Only the first limit valid rows count
// (0: all).
func scanDataset(ctx context.Context, f *os.File, limit int) (*scan, error) {
	s := &scan{}
	digest, err := eachRow(ctx, f, limit, func(r *row) error {
		s.rows = append(s.rows, r.key())
		return nil
	}, func(bad db.BadLine) { s.bad = append(s.bad, bad) })
	if err != nil {
		return nil, err
	}
	s.digest = digest
	s.order = make([]uint32, len(s.rows))
	for i := range s.order {
		s.order[i] = uint32(i)
	}
	slices.SortFunc(s.order, func(a, b uint32) int {
		if c := bytes.Compare(s.rows[a].content[:], s.rows[b].content[:]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	return s, nil
}

// eachRow calls fn for the first limit valid rows and bad for each bad line
// before them; it returns the hash of the file.
func eachRow(ctx context.Context, f *os.File, limit int, fn func(*row) error, bad func(db.BadLine)) (db.Hash, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return db.Hash{}, err
	}
	rows := newRowReader(f)
	for n := 0; limit == 0 || n < limit; {
		if err := ctx.Err(); err != nil {
			return db.Hash{}, err
		}
		r, err := rows.next()
		var skip *badRow
		switch {
		case errors.As(err, &skip):
			bad(skip.BadLine)
			continue
		case errors.Is(err, io.EOF):
			return rows.digest(), nil
		case err != nil:
			return db.Hash{}, err
		}
		if err := fn(r); err != nil {
			return db.Hash{}, err
		}
		n++
	}
	if err := rows.drain(); err != nil {
		return db.Hash{}, err
	}
	return rows.digest(), nil
}

// group returns the row numbers that have the same content as row number n,
// in file order.
func (s *scan) group(n int) []uint32 {
	content := s.rows[n].content
	lo, _ := slices.BinarySearchFunc(s.order, content, func(i uint32, c [16]byte) int {
		return bytes.Compare(s.rows[i].content[:], c[:])
	})
	size, _ := slices.BinarySearchFunc(s.order[lo:], content, func(i uint32, c [16]byte) int {
		if s.rows[i].content == c {
			return -1
		}
		return 1
	})
	return s.order[lo : lo+size]
}

// digestOf is the hash of a file's bytes.
func digestOf(f *os.File) (h db.Hash, err error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return h, err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return h, err
	}
	copy(h[:], sum.Sum(nil))
	return h, nil
}
