package model

import (
	"context"
	"fmt"
	"time"
)

const (
	// maxTries is how many requests may fail before a call is given up; waiting
	// for a rate limit is no try.
	maxTries = 6
	// maxCut is how many replies may be cut in the middle of a call: the next
	// one is likely to be as long.
	maxCut = 3
	// maxRateWait bounds the time that one call waits for rate limits: an hour
	// lets hourly limits pass, and a limit that lasts longer ends the run
	// instead of keeping it asleep.
	maxRateWait = time.Hour

	backoffFirst = 500 * time.Millisecond
	backoffMost  = 30 * time.Second
)

// backoff returns the pause after the nth failure: doubling, of which the upper
// half is drawn.
func (c clock) backoff(failures int) time.Duration {
	d := min(backoffFirst<<min(failures-1, 16), backoffMost)
	return d/2 + time.Duration(c.random()*float64(d/2))
}

// call is one call of Complete on its way.
type call struct {
	client  *Client
	conv    *Conversation
	waiting func(bool)

	sent     int           // requests
	failures int           // of maxTries
	cuts     int           // of maxCut
	waited   time.Duration // for rate limits
	raced    bool          // the request was repeated at once since the last failure
	rejected []Rejected
}

func (k *call) run(ctx context.Context) (*Reply, error) {
	for {
		waited, err := k.client.gate.pass(ctx, k.waiting)
		k.waited += waited
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, k.interrupted(ctx, err)
		}
		reply, f := k.try(ctx)
		if f == nil {
			reply.Tries, reply.Rejected = k.sent, k.rejected
			return reply, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, k.interrupted(ctx, err)
		}
		pause, again := k.judge(f)
		k.client.logFault(ctx, k, f, pause, again)
		if !again {
			return nil, k.failed(f)
		}
		if err := k.client.clock.sleep(ctx, pause); err != nil {
			return nil, k.interrupted(ctx, err)
		}
	}
}

// judge says whether the request is sent again, and after which pause. Waits
// that the endpoint told are left to the gate.
func (k *call) judge(f *fault) (pause time.Duration, again bool) {
	switch {
	case f.raced && !k.raced:
		k.raced = true
		return 0, true
	case f.limit:
		k.client.newLimit.Store(true)
		return 0, true
	case f.class != Transient:
		return 0, false
	case f.told >= k.client.maxRateWait:
		f.class, f.reason = Fatal, ReasonRateLimit
		f.message = fmt.Sprintf("rate limited until %s: %s",
			k.client.clock.now().Add(f.told).UTC().Format(time.RFC3339), f.message)
		return 0, false
	case f.rate:
		return 0, k.waited < k.client.maxRateWait
	case f.cut:
		k.cuts++
		if k.cuts == maxCut {
			f.class = Permanent
		}
		return 0, k.cuts < maxCut
	}
	k.raced = false
	k.failures++
	if k.failures == maxTries {
		k.client.lastWord(f)
		return 0, false
	}
	if f.told > 0 {
		return 0, true
	}
	return k.client.clock.backoff(k.failures), true
}

func (k *call) failed(f *fault) *Error {
	message := oneLine(k.client.mask(f.message))
	if message == "" {
		message = "an error without a message"
	}
	return &Error{
		Class: f.class, Reason: f.reason, Status: f.status, Message: message,
		Tries: k.sent, Rejected: k.rejected, cause: f.cause,
	}
}

func (k *call) interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return &Interrupted{Tries: k.sent, Rejected: k.rejected, cause: err}
}
