package db

import (
	"fmt"
)

// PutSettings stores a canonical text of settings under its fingerprint,
// unless it is there, and returns when it is durable.
func (s *Store) PutSettings(canonical []byte) (Hash, error) {
	fp := settingsHash(canonical)
	known := false
	err := s.view(func(tx reader) error {
		known = bucketSettings.get(tx, fp[:]) != nil
		return nil
	})
	if err != nil || known {
		return fp, err
	}
	value, puts, err := packInline(nil, canonical)
	if err != nil {
		return fp, fmt.Errorf("settings: %w", err)
	}
	return fp, s.writeAndWait(append(puts, put{bucketSettings, fp[:], value}))
}

// Settings returns the canonical text with that fingerprint, or ErrNotFound.
func (s *Store) Settings(fp Hash) ([]byte, error) {
	var canonical []byte
	err := s.view(func(tx reader) (err error) {
		canonical, err = readSettings(tx, fp)
		return err
	})
	return canonical, err
}

func readSettings(tx reader, fp Hash) ([]byte, error) {
	value := bucketSettings.get(tx, fp[:])
	if value == nil {
		return nil, fmt.Errorf("settings %s: %w", fp, ErrNotFound)
	}
	canonical, err := unpack(tx, value)
	if err != nil {
		return nil, fmt.Errorf("settings %s: %w", fp, mustExist(err))
	}
	if settingsHash(canonical) != fp {
		return nil, damaged("settings %s have another fingerprint", fp)
	}
	return canonical, nil
}
