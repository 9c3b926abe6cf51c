package db

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Hash is a SHA-256 value. The zero Hash stands for "none".
type Hash [sha256.Size]byte

// ParseHash reads the 64 hexadecimal digits that String writes.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if len(s) != hex.EncodedLen(len(h)) {
		return Hash{}, fmt.Errorf("hash %.80q: want %d hexadecimal digits", s, hex.EncodedLen(len(h)))
	}
	if _, err := hex.Decode(h[:], []byte(s)); err != nil {
		return Hash{}, fmt.Errorf("hash %.80q: %w", s, err)
	}
	return h, nil
}

// String returns the hash as 64 lower-case hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// IsZero reports whether h is the zero Hash.
func (h Hash) IsZero() bool { return h == Hash{} }

// MarshalText returns what String returns.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (h *Hash) UnmarshalText(text []byte) error {
	v, err := ParseHash(string(text))
	if err != nil {
		return err
	}
	*h = v
	return nil
}

// HashParts hashes a tag and a list of byte strings, each preceded by its
// length as eight bytes, big endian, so that no two lists have the same input.
func HashParts(tag string, parts ...[]byte) Hash {
	d := sha256.New()
	var length [8]byte
	write := func(p []byte) {
		binary.BigEndian.PutUint64(length[:], uint64(len(p)))
		d.Write(length[:])
		d.Write(p)
	}
	write([]byte(tag))
	for _, p := range parts {
		write(p)
	}
	var h Hash
	d.Sum(h[:0])
	return h
}

// PromptHash is the identity of a prompt's content.
func PromptHash(prompt, image, cwd string) Hash {
	return HashParts("prompt/1", []byte(prompt), []byte(image), []byte(cwd))
}

func settingsHash(canonical []byte) Hash { return HashParts("settings/1", canonical) }

// sessionHead is what the first step of a session's first attempt chains from.
func sessionHead(prompt Hash, copyNumber uint32, rollout int) Hash {
	var c, r [4]byte
	binary.BigEndian.PutUint32(c[:], copyNumber)
	binary.BigEndian.PutUint32(r[:], uint32(rollout))
	return HashParts("session/1", prompt[:], c[:], r[:])
}

func stepHash(parent Hash, payload []byte) Hash {
	d := sha256.New()
	d.Write(parent[:])
	d.Write(payload)
	var h Hash
	d.Sum(h[:0])
	return h
}
