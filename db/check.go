package db

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// maxProblems bounds the problems that a Report lists.
const maxProblems = 100

// Report is what Check found. The store is sound if Found is 0.
type Report struct {
	Prompts  int
	Sessions int // that have begun
	Steps    int
	Outcomes int
	Blobs    int
	Bytes    int64    // size of the file
	Found    int      // number of problems
	Problems []string // the first of them, one line each
}

// Check looks for contradictions: in the pages of the file, the shape of keys,
// checksums, the chains of steps, identities and prompts, the plan, outcomes.
// A deep check reads everything: every hash, record and blob. Damage is a
// problem in the report, not an error.
//
// It may be called during a run, which it slows down: commits wait while
// bbolt's own check reads the pages. The rest is done in short transactions.
func (s *Store) Check(ctx context.Context, deep bool) (Report, error) {
	c := &checker{s: s, ctx: ctx, deep: deep}
	steps := []func() error{
		c.pages, c.boltCheck, c.meta, c.settings, c.launches, c.prompts, c.identities, c.plan,
		c.turns, c.outcomes, c.blobs, c.reserved,
	}
	for i, step := range steps {
		err := step()
		switch {
		case errors.Is(err, ErrDamaged):
			c.problem("%v", err)
		case err != nil:
			return c.report, err
		}
		if i < 2 && c.report.Found > 0 {
			break // nothing in damaged pages can be relied on
		}
	}
	return c.report, nil
}

type checker struct {
	s      *Store
	ctx    context.Context
	deep   bool
	report Report
}

func (c *checker) problem(format string, args ...any) {
	if c.report.Found++; c.report.Found <= maxProblems {
		c.report.Problems = append(c.report.Problems, fmt.Sprintf(format, args...))
	}
}

// note makes a problem of damage, and returns other errors.
func (c *checker) note(err error) error {
	if errors.Is(err, ErrDamaged) {
		c.problem("%v", err)
		return nil
	}
	return err
}

// pages walks all pages as they are in one transaction.
func (c *checker) pages() error {
	return c.s.view(func(tx reader) error {
		info, err := c.s.file.Stat()
		if err != nil {
			return err
		}
		c.report.Bytes = info.Size()
		metas, errs := readMetas(c.s.file)
		for i, m := range metas {
			if errs[i] == nil && m.txid == uint64(tx.ID()) {
				w := newWalker(c.s.file, c.report.Bytes, m, true)
				w.strict = true
				w.walk()
				for _, f := range w.faults {
					c.problem("%s", f)
				}
				return nil
			}
		}
		if c.s.writes != nil && c.s.writes.failure() == nil {
			return nil // commits went on meanwhile; bbolt's check follows in any case
		}
		return damaged("the meta page in use is gone")
	})
}

// boltCheck runs bbolt's own check, beside no writer: in a transaction that
// could write, or over a second handle if nobody does.
func (c *checker) boltCheck() error {
	if c.s.Err() != nil {
		return nil // no transaction is to be had any more, and pages has walked them
	}
	if c.s.writes != nil {
		err := c.s.update(func(tx reader) error {
			c.drain(tx.Tx)
			return errChecked
		}, nil)
		if !errors.Is(err, errChecked) {
			return err
		}
		return nil
	}
	db, err := bolt.Open(c.s.path, 0, &bolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.View(func(tx *bolt.Tx) error {
		c.drain(tx)
		return nil
	})
}

// errChecked undoes the transaction of a check.
var errChecked = errors.New("checked")

func (c *checker) drain(tx *bolt.Tx) {
	for err := range tx.Check() {
		c.problem("%s", strings.TrimPrefix(err.Error(), "panic: ")) // which bbolt caught
	}
}

const (
	// scanEntries and scanBytes bound the read transactions of a check.
	scanEntries = 2000
	scanBytes   = 4 << 20
)

// scan calls fn with all entries of a bucket, in many short transactions. What
// fn gets is valid during the call. Damage that fn returns is noted.
func (c *checker) scan(b bucket, fn func(tx reader, k, v []byte) error) error {
	next := []byte{}
	for next != nil {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		err := c.s.view(func(tx reader) error {
			cursor := b.of(tx).Cursor()
			k, v := cursor.Seek(next)
			for n, size := 0, 0; k != nil && n < scanEntries && size < scanBytes; n++ {
				size += len(k) + len(v)
				if err := c.note(fn(tx, k, v)); err != nil {
					return err
				}
				next = append(append(next[:0], k...), 0)
				k, v = cursor.Next()
			}
			if k == nil {
				next = nil
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// meta checks the bucket of single values, and that there are no other buckets.
func (c *checker) meta() error {
	return c.s.view(func(tx reader) error {
		if err := checkFormat(tx); err != nil {
			return c.note(err)
		}
		err := tx.ForEach(func(name []byte, _ *bolt.Bucket) error {
			for _, known := range bucketNames {
				if string(name) == string(known) {
					return nil
				}
			}
			c.problem("unknown bucket %.40q", name)
			return nil
		})
		if err != nil {
			return err
		}
		var run Run
		if err := c.note(mustExist(getJSON(tx, bucketMeta, keyRun, &run))); err != nil {
			return err
		}
		_, sealed, err := readRegistrations(tx)
		if err == nil {
			err = c.s.checkNumber(tx, sealed)
		}
		return c.note(err)
	})
}

func (c *checker) settings() error {
	return c.scan(bucketSettings, func(tx reader, k, _ []byte) error {
		if len(k) != len(Hash{}) {
			return damaged("settings key %.40x", k)
		}
		_, err := readSettings(tx, Hash(k))
		return err
	})
}

func (c *checker) launches() error {
	n := 0
	return c.scan(bucketLaunches, func(_ reader, k, v []byte) error {
		n++
		var l Launch
		if err := parseJSON(bucketLaunches, k, v, &l); err != nil {
			return err
		}
		if len(k) != indexKey || int(binary.BigEndian.Uint32(k)) != n || l.Number != n {
			return damaged("launch %d is out of order", n)
		}
		return nil
	})
}

// plan checks the plan against its pages and the registered prompts.
func (c *checker) plan() error {
	p, ok, err := c.s.Plan()
	if err != nil {
		return err
	}
	rows, err := c.planRows()
	if err != nil {
		return err
	}
	bad := 0
	if err := c.s.BadLines(func(BadLine) error { bad++; return c.ctx.Err() }); err != nil {
		return err
	}
	if rows != p.Rows || bad != p.Bad {
		return damaged("plan: %d rows and %d bad lines, it says %d and %d", rows, bad, p.Rows, p.Bad)
	}
	keys, want := 0, (rows+rowsPerPage-1)/rowsPerPage+(bad+badPerPage-1)/badPerPage
	if ok {
		want++
	}
	err = c.scan(bucketPlan, func(reader, []byte, []byte) error { keys++; return nil })
	if err == nil && keys != want {
		err = damaged("plan: %d values where %d belong", keys, want)
	}
	return err
}

// planRows counts the rows of the plan, each of which is a prompt of its own.
func (c *checker) planRows() (int, error) {
	var seen Indices
	rows, page := 0, make([]uint32, rowsPerPage)
	for {
		n, err := c.s.PlanRows(rows, page)
		if err != nil || n == 0 {
			return rows, err
		}
		rows += n
		for _, index := range page[:n] {
			if seen.Has(int(index)) {
				return 0, damaged("plan: prompt %d is there twice", index)
			}
			seen.Add(int(index))
		}
	}
}

// reserved checks that nobody writes yet where this version does not.
func (c *checker) reserved() error {
	for _, b := range []bucket{bucketScores, bucketRequests} {
		err := c.scan(b, func(_ reader, k, _ []byte) error {
			return damaged("bucket %s holds %.40x", b, k)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
