package db

import (
	"bytes"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// put is one key and its value. They belong to the committer once queued.
type put struct {
	bucket     bucket
	key, value []byte
}

// request is a set of puts, or a function over a transaction of its own, that
// becomes durable as a whole. done, if set, is called by the committer once it
// has, before any later request begins.
type request struct {
	puts   []put
	fn     func(tx reader) error
	done   func()
	log    *Log
	bytes  int
	commit *Commit
}

// gather returns the puts of a group in the order of buckets and keys. A
// request whose steps are committed with other bytes is refused, and so is
// what its log queued behind it.
func gather(tx reader, group []*request, refused []error) []put {
	var puts []put
	seen := map[string][]byte{}
	for i, r := range group {
		if r.log != nil && r.log.refused == nil {
			r.log.refused = conflict(tx, r.puts, seen)
		}
		if r.log != nil && r.log.refused != nil {
			refused[i] = r.log.refused
			continue
		}
		puts = append(puts, r.puts...)
	}
	sortPuts(puts)
	return puts
}

// sortPuts brings puts into the order of buckets and keys; of equal keys the
// later one stays the later.
func sortPuts(puts []put) {
	slices.SortStableFunc(puts, func(a, b put) int {
		if a.bucket != b.bucket {
			return int(a.bucket) - int(b.bucket)
		}
		return bytes.Compare(a.key, b.key)
	})
}

// conflict finds a step that would overwrite another one.
func conflict(tx reader, puts []put, seen map[string][]byte) error {
	for _, p := range puts {
		if p.bucket != bucketTurns {
			continue
		}
		old, queued := seen[string(p.key)]
		if !queued {
			old = bucketTurns.get(tx, p.key)
		}
		if old != nil && !bytes.Equal(old, p.value) {
			o, attempt, step, _ := parseStepKey(p.key)
			return fmt.Errorf("%w: %s attempt %d step %d", ErrConflict, o, attempt, step)
		}
		seen[string(p.key)] = p.value
	}
	return nil
}

// fill is how full a page is left that is split. bbolt's half leaves pages of
// two turns of 4 KB with one: such a store was 1.6 times its JSONL, and is 0.65
// with this. Fuller pages (0.56) cost runs whose sessions write in turns more
// than they save: 29 MB in place of 25 MB for 5,120 sessions of short turns.
const fill = 0.9

// apply puts in order. Blobs that are there stay: equal hashes are equal bytes.
func apply(tx reader, puts []put) error {
	current, in := bucketCount, (*bolt.Bucket)(nil)
	for _, p := range puts {
		if p.bucket != current {
			current, in = p.bucket, p.bucket.of(tx)
			in.FillPercent = fill
		}
		if (current == bucketBlobs || current == bucketSettings) && in.Get(p.key) != nil {
			continue
		}
		if err := in.Put(p.key, p.value); err != nil {
			return fmt.Errorf("put in %s: %w", current, err)
		}
	}
	return nil
}
