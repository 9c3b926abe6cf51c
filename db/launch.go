package db

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Launch is one session of the program over a run.
type Launch struct {
	Number    int               `json:"number"` // from 1; set by BeginLaunch
	Started   time.Time         `json:"started"`
	Ended     time.Time         `json:"ended,omitzero"`
	Version   string            `json:"version"` // of the program
	Host      string            `json:"host"`
	BootID    string            `json:"boot_id"`
	PID       int               `json:"pid"`
	Flags     map[string]string `json:"flags,omitempty"`
	Settings  Hash              `json:"settings,omitzero"`
	BatchSize int               `json:"batch_size"`
	End       string            `json:"end"` // "" while it runs or after a crash, "complete", "interrupted", "stopped: …"
}

// BeginLaunch records a launch and returns its number. Started is now if zero.
func (s *Store) BeginLaunch(l Launch) (int, error) {
	if l.Started.IsZero() {
		l.Started = s.opts.Now()
	}
	l.Started, l.Ended = l.Started.UTC(), l.Ended.UTC()
	err := s.update(func(tx reader) error {
		l.Number = 1
		if k, _ := bucketLaunches.of(tx).Cursor().Last(); len(k) == indexKey {
			l.Number = int(binary.BigEndian.Uint32(k)) + 1
		}
		return putJSON(tx.Tx, bucketLaunches, keyOfNumber(l.Number), l)
	}, nil)
	return l.Number, err
}

// EndLaunch records that and how a launch ended.
func (s *Store) EndLaunch(number int, end string) error {
	now := s.opts.Now().UTC()
	return s.update(func(tx reader) error {
		var l Launch
		key := keyOfNumber(number)
		if err := getJSON(tx, bucketLaunches, key, &l); err != nil {
			return fmt.Errorf("launch %d: %w", number, err)
		}
		l.Ended, l.End = now, end
		return putJSON(tx.Tx, bucketLaunches, key, l)
	}, nil)
}

// LastLaunch returns the launch that began last, and whether there is any.
func (s *Store) LastLaunch() (l Launch, ok bool, err error) {
	err = s.view(func(tx reader) error {
		k, v := bucketLaunches.of(tx).Cursor().Last()
		if ok = k != nil; !ok {
			return nil
		}
		return parseJSON(bucketLaunches, k, v, &l)
	})
	return l, ok, err
}

// Launches returns all launches in order.
func (s *Store) Launches() ([]Launch, error) {
	var all []Launch
	err := s.view(func(tx reader) error {
		return bucketLaunches.of(tx).ForEach(func(k, v []byte) error {
			var l Launch
			if err := parseJSON(bucketLaunches, k, v, &l); err != nil {
				return err
			}
			all = append(all, l)
			return nil
		})
	})
	return all, err
}
