package db

import (
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// formatName and formatVersion stand in every store, under these keys of the
// bucket meta, as plain text.
const (
	formatName    = "hermes-batch store"
	formatVersion = 1
)

var (
	keyFormat        = []byte("format")
	keyVersion       = []byte("version")
	keyRun           = []byte("run")
	keySealed        = []byte("sealed")
	keyRegistrations = []byte("registrations")
)

// bucket numbers the buckets in the order in which a transaction writes them.
type bucket uint8

const (
	bucketMeta bucket = iota
	bucketSettings
	bucketLaunches
	bucketPrompts
	bucketIdentities
	bucketPlan
	bucketTurns
	bucketOutcomes
	bucketBlobs
	bucketScores
	bucketRequests
	bucketCount
)

var bucketNames = [bucketCount][]byte{
	[]byte("meta"), []byte("settings"), []byte("launches"), []byte("prompts"), []byte("identities"), []byte("plan"),
	[]byte("turns"), []byte("outcomes"), []byte("blobs"), []byte("scores"), []byte("requests"),
}

func (b bucket) String() string { return string(bucketNames[b]) }

// reader is a transaction as far as looking things up goes.
type reader struct{ *bolt.Tx }

// of returns the bucket; a store without it is not opened in the first place.
func (b bucket) of(tx reader) *bolt.Bucket { return tx.Bucket(bucketNames[b]) }

// get returns a value inside the transaction's memory, nil if absent.
func (b bucket) get(tx reader, key []byte) []byte { return b.of(tx).Get(key) }

// Sizes of the keys, and of their parts.
const (
	indexKey    = 4
	ordinalKey  = 8
	attemptSize = 2
	stepSize    = 4
	stepKey     = ordinalKey + attemptSize + stepSize
	identityKey = len(Hash{}) + 4
	blobKey     = len(Hash{}) + 4
)

const (
	maxAttempt = 1<<16 - 1
	maxStep    = 1<<32 - 1
	maxIndex   = 1<<32 - 1
)

func keyOfNumber(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

func keyOfOrdinal(o Ordinal) []byte { return binary.BigEndian.AppendUint64(nil, uint64(o)) }

func keyOfStep(o Ordinal, attempt, step int) []byte {
	k := make([]byte, 0, stepKey)
	k = binary.BigEndian.AppendUint64(k, uint64(o))
	k = binary.BigEndian.AppendUint16(k, uint16(attempt))
	return binary.BigEndian.AppendUint32(k, uint32(step))
}

func parseStepKey(k []byte) (o Ordinal, attempt, step int, ok bool) {
	if len(k) != stepKey {
		return 0, 0, 0, false
	}
	return Ordinal(binary.BigEndian.Uint64(k)), int(binary.BigEndian.Uint16(k[ordinalKey:])),
		int(binary.BigEndian.Uint32(k[ordinalKey+attemptSize:])), true
}

func keyOfHash(h Hash, n uint32) []byte {
	k := make([]byte, 0, len(h)+4)
	return binary.BigEndian.AppendUint32(append(k, h[:]...), n)
}

// initialise makes the buckets of an empty store.
func initialise(tx *bolt.Tx, run Run) error {
	for _, name := range bucketNames {
		if _, err := tx.CreateBucket(name); err != nil {
			return fmt.Errorf("create bucket %s: %w", name, err)
		}
	}
	meta := tx.Bucket(bucketNames[bucketMeta])
	if err := meta.Put(keyFormat, []byte(formatName)); err != nil {
		return err
	}
	if err := meta.Put(keyVersion, fmt.Append(nil, formatVersion)); err != nil {
		return err
	}
	return putJSON(tx, bucketMeta, keyRun, run)
}
