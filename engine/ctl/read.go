package ctl

import (
	"context"
	"errors"
	"io"
	"time"

	"hermes-batch/db"
)

// lockWait is how long a reader waits for the store before it asks the run that
// holds it.
const lockWait = 100 * time.Millisecond

// Read answers a question about the store at path: with fn if nobody works on
// the store, else the run that does answers, under the verb's name.
func Read(ctx context.Context, path, verb string, args []string, w io.Writer, fn Verb) error {
	opts := db.Options{ReadOnly: true, LockTimeout: lockWait}
	for again := true; ; again = false {
		s, err := db.Open(path, opts)
		if err == nil {
			return errors.Join(fn(ctx, s, args, w), s.Close())
		}
		var held *db.LockedError
		if !errors.As(err, &held) || held.Socket == "" {
			return err
		}
		err = Call(ctx, held.Socket, verb, args, w)
		if !errors.Is(err, ErrNobody) || !again {
			return err
		}
		opts.LockTimeout = 0 // it is ending: the usual time
	}
}
