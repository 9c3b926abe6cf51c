package db

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A blob is a packed value, cut into chunks: key hash ‖ chunk number, value one
// byte (1: more follow, 0: the last) and the bytes.
const (
	chunkLast byte = 0
	chunkMore byte = 1
)

// PutBlob stores data under its SHA-256, unless it is there, and returns when
// it is durable.
func (s *Store) PutBlob(data []byte) (Hash, error) {
	if len(data) > maxRaw {
		return Hash{}, ErrTooLarge
	}
	h := Hash(sha256.Sum256(data))
	known := false
	err := s.view(func(tx reader) error {
		known = bucketBlobs.get(tx, keyOfHash(h, 0)) != nil
		return nil
	})
	if err != nil || known {
		return h, err
	}
	return h, s.writeAndWait(blobPuts(h, pack(nil, data)))
}

// Blob returns the bytes with that SHA-256.
func (s *Store) Blob(h Hash) ([]byte, error) {
	var data []byte
	err := s.view(func(tx reader) (err error) {
		data, err = readBlob(tx, h)
		return err
	})
	return data, err
}

// WriteFull writes all that a result shows head and tail of to w, a piece at a
// time, and returns the number of bytes; 0 if the result shows all. Secrets
// are masked in it as they are in the text.
func (s *Store) WriteFull(w io.Writer, r *Result) (int64, error) {
	var written int64
	for _, p := range r.Parts {
		if p.Type != PartFull {
			continue
		}
		piece, err := s.Blob(p.Blob)
		if err != nil {
			return written, mustExist(err)
		}
		n, err := w.Write(piece)
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

func blobPuts(h Hash, packed []byte) []put {
	var puts []put
	for n := uint32(0); n == 0 || len(packed) > 0; n++ {
		chunk := packed[:min(len(packed), maxInline)]
		packed = packed[len(chunk):]
		more := chunkLast
		if len(packed) > 0 {
			more = chunkMore
		}
		puts = append(puts, put{bucketBlobs, keyOfHash(h, n), append([]byte{more}, chunk...)})
	}
	return puts
}

func readBlob(tx reader, h Hash) ([]byte, error) {
	packed, err := joinChunks(tx, h)
	if err != nil {
		return nil, err
	}
	if packed[0] == codecSpilled {
		return nil, damaged("blob %s refers to another", h)
	}
	raw, err := unpack(tx, packed)
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", h, err)
	}
	if Hash(sha256.Sum256(raw)) != h {
		return nil, damaged("blob %s has another hash", h)
	}
	return raw, nil
}

// joinChunks returns the packed bytes of a blob, never empty.
func joinChunks(tx reader, h Hash) ([]byte, error) {
	var joined []byte
	c := bucketBlobs.of(tx).Cursor()
	k, v := c.Seek(h[:])
	for n := uint32(0); ; n++ {
		if !bytes.HasPrefix(k, h[:]) {
			if n == 0 {
				return nil, fmt.Errorf("blob %s: %w", h, ErrNotFound)
			}
			return nil, damaged("blob %s ends before its last chunk", h)
		}
		if len(k) != blobKey || binary.BigEndian.Uint32(k[len(h):]) != n || len(v) < 1 || len(v) > 1+maxInline || v[0] > chunkMore {
			return nil, damaged("blob %s has a bad chunk %d", h, n)
		}
		last := v[0] == chunkLast
		if n == 0 && last {
			joined = v[1:]
		} else {
			joined = append(joined, v[1:]...)
		}
		if last {
			break
		}
		k, v = c.Next()
	}
	if len(joined) < packedHead {
		return nil, damaged("blob %s is cut", h)
	}
	return joined, nil
}

// mustExist makes damage of ErrNotFound where it is a record, and not the
// caller, that refers to what is missing.
func mustExist(err error) error {
	if errors.Is(err, ErrNotFound) {
		return damaged("%v", err)
	}
	return err
}
