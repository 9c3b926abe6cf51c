package db

import (
	"encoding/json"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Run is what a store is about.
type Run struct {
	ID      string    `json:"id"` // UUID version 4; made by Create if empty
	Created time.Time `json:"created"`
	Name    string    `json:"name"`
	Tools   []string  `json:"tools"` // all tool names, in the order of the rows' tool_stats
}

// Run returns the run.
func (s *Store) Run() Run {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.run
	r.Tools = slices.Clone(r.Tools)
	return r
}

// AddTools appends those names to the run's tools that are not among them yet.
func (s *Store) AddTools(names []string) error {
	run := s.Run()
	if !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(run.Tools, n) }) {
		return nil
	}
	return s.update(func(tx reader) error {
		run = s.Run()
		for _, n := range names {
			if !slices.Contains(run.Tools, n) {
				run.Tools = append(run.Tools, n)
			}
		}
		return putJSON(tx.Tx, bucketMeta, keyRun, run)
	}, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.run = run
	})
}

// putJSON stores a value as JSON with a checksum.
func putJSON(tx *bolt.Tx, b bucket, key []byte, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return b.of(reader{tx}).Put(key, seal(key, data))
}

// getJSON reads what putJSON stored; ErrNotFound if there is nothing.
func getJSON(tx reader, b bucket, key []byte, v any) error {
	value := b.get(tx, key)
	if value == nil {
		return ErrNotFound
	}
	return parseJSON(b, key, value, v)
}

func parseJSON(b bucket, key, value []byte, v any) error {
	data, err := unseal(key, value)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		return damaged("%s %x: %v", b, key, err)
	}
	return nil
}
