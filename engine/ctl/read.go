package ctl

import (
	"context"
	"errors"
	"io"
	"time"

	"hermes-batch/db"
)

// lockWait is how long a reader waits for a store that is being closed. While
// a run goes on it is in vain, and the run is asked.
const lockWait = 100 * time.Millisecond

// Read answers a question about the store at path: with fn if nobody works on
// the store, else the run that does answers, under the verb's name.
func Read(ctx context.Context, path, verb string, args []string, w io.Writer, fn Verb) error {
	for again := true; ; again = false {
		s, err := db.Open(path, db.Options{ReadOnly: true, LockTimeout: lockWait})
		if err == nil {
			return errors.Join(fn(ctx, s, args, w), s.Close())
		}
		var held *db.LockedError
		if !errors.As(err, &held) || held.Socket == "" {
			return err
		}
		err = Call(ctx, held.Socket, verb, args, w)
		if !errors.Is(err, ErrNobody) || !again { // it may just have ended
			return err
		}
	}
}
