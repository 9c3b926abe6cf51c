package db

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// BadLine is a line of the dataset that was skipped.
type BadLine struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
	Hint   string `json:"hint"`
}

// Plan is the present dataset as far as it takes part.
type Plan struct {
	Dataset Hash   `json:"dataset"` // SHA-256 of the file's bytes
	Path    string `json:"path"`
	Limit   int    `json:"limit"` // max_samples, 0 for all
	Rows    int    `json:"rows"`
	Bad     int    `json:"bad"`
}

// The plan's bucket holds the plan under 'p', pages of prompt indices under
// 'r' ‖ page, pages of bad lines under 'b' ‖ page.
const (
	planBad  byte = 'b'
	planHead byte = 'p'
	planRows byte = 'r'

	// rowsPerPage and badPerPage make values that fit a page of the file.
	rowsPerPage = 1000
	badPerPage  = 32
)

func keyOfPage(part byte, page int) []byte {
	return binary.BigEndian.AppendUint32([]byte{part}, uint32(page))
}

// PutPlan replaces the plan, and gives the prompts that were registered since
// the last one their batches of batchSize, in one transaction. rows are prompt
// indices in the order of the dataset. Plan.Rows and Plan.Bad are set from the
// lists.
func (s *Store) PutPlan(p Plan, rows []uint32, bad []BadLine, batchSize int) error {
	if batchSize < 1 {
		return fmt.Errorf("plan: batch size %d", batchSize)
	}
	p.Rows, p.Bad = len(rows), len(bad)
	var regs []Registration
	var sealed int
	return s.update(func(tx reader) (err error) {
		next := registered(tx)
		for _, index := range rows {
			if int(index) >= next {
				return fmt.Errorf("plan: prompt %d: %w", index, ErrNotFound)
			}
		}
		if err := replacePlan(tx, p, rows, bad); err != nil {
			return err
		}
		regs, sealed, err = s.seal(tx, next, batchSize)
		return err
	}, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.registrations, s.sealed = regs, sealed
	})
}

func replacePlan(tx reader, p Plan, rows []uint32, bad []BadLine) error {
	name := bucketNames[bucketPlan]
	if err := tx.DeleteBucket(name); err != nil {
		return err
	}
	in, err := tx.CreateBucket(name)
	if err != nil {
		return err
	}
	in.FillPercent = 1
	if err := putBadLines(in, bad); err != nil {
		return err
	}
	if err := putJSON(tx.Tx, bucketPlan, []byte{planHead}, p); err != nil {
		return err
	}
	for page := 0; len(rows) > 0; page++ {
		n := min(len(rows), rowsPerPage)
		value := make([]byte, 0, 4*n+sumSize)
		for _, index := range rows[:n] {
			value = binary.BigEndian.AppendUint32(value, index)
		}
		rows = rows[n:]
		key := keyOfPage(planRows, page)
		if err := in.Put(key, seal(key, value)); err != nil {
			return err
		}
	}
	return nil
}

func putBadLines(in *bolt.Bucket, bad []BadLine) error {
	for page := 0; len(bad) > 0; page++ {
		n := min(len(bad), badPerPage)
		data, err := json.Marshal(bad[:n])
		if err != nil {
			return err
		}
		bad = bad[n:]
		key := keyOfPage(planBad, page)
		if err := in.Put(key, seal(key, data)); err != nil {
			return err
		}
	}
	return nil
}

// Plan returns the present plan, and whether there is one.
func (s *Store) Plan() (p Plan, ok bool, err error) {
	err = s.view(func(tx reader) error {
		key := []byte{planHead}
		value := bucketPlan.get(tx, key)
		if ok = value != nil; !ok {
			return nil
		}
		return parseJSON(bucketPlan, key, value, &p)
	})
	return p, ok && err == nil, err
}

// PlanRows fills dst with the prompt indices from a position in the plan on,
// and returns how many; 0 at the end. A plan that is replaced meanwhile shows
// in the rows that follow.
func (s *Store) PlanRows(from int, dst []uint32) (int, error) {
	n := 0
	err := s.view(func(tx reader) error {
		prompts := registered(tx)
		for n < len(dst) {
			page, at := (from+n)/rowsPerPage, (from+n)%rowsPerPage
			rows, err := planPage(tx, page)
			if err != nil {
				return err
			}
			if 4*at >= len(rows) {
				return nil
			}
			for rows = rows[4*at:]; len(rows) > 0 && n < len(dst); rows = rows[4:] {
				dst[n] = binary.BigEndian.Uint32(rows)
				if int(dst[n]) >= prompts {
					return damaged("plan: prompt %d is not registered", dst[n])
				}
				n++
			}
		}
		return nil
	})
	return n, err
}

// Planned returns the prompts of the present plan.
func (s *Store) Planned() (set Indices, err error) {
	page := make([]uint32, rowsPerPage)
	for from := 0; ; {
		n, err := s.PlanRows(from, page)
		if err != nil || n == 0 {
			return set, err
		}
		from += n
		for _, index := range page[:n] {
			set.Add(int(index))
		}
	}
}

// planPage returns a page's bytes inside the transaction, nil beyond the last.
func planPage(tx reader, page int) ([]byte, error) {
	key := keyOfPage(planRows, page)
	value := bucketPlan.get(tx, key)
	if value == nil {
		return nil, nil
	}
	rows, err := unseal(key, value)
	if err == nil && (len(rows)%4 != 0 || len(rows) > 4*rowsPerPage) {
		err = damaged("%d bytes", len(rows))
	}
	if err != nil {
		return nil, fmt.Errorf("plan page %d: %w", page, err)
	}
	return rows, nil
}

// BadLines calls fn with the skipped lines of the present dataset, outside of
// transactions, until it returns an error, which is returned.
func (s *Store) BadLines(fn func(BadLine) error) error {
	for page := 0; ; page++ {
		var lines []BadLine
		err := s.view(func(tx reader) error {
			key := keyOfPage(planBad, page)
			if value := bucketPlan.get(tx, key); value != nil {
				return parseJSON(bucketPlan, key, value, &lines)
			}
			return nil
		})
		if err != nil || len(lines) == 0 {
			return err
		}
		for _, l := range lines {
			if err := fn(l); err != nil {
				return err
			}
		}
	}
}
