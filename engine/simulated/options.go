package simulated

import (
	"flag"
	"fmt"
	"time"
)

// Model is the name under which the model answers.
const Model = "simulated"

// Options are the knobs of a Server. With the zero value it answers at once
// and never fails.
type Options struct {
	Latency   time.Duration // before each reply
	Jitter    time.Duration // up to this much more, the same for a turn each time
	Fail      float64       // probability, 0 to 1, that a request ends in a 500 or a reset, half each
	RateLimit float64       // requests a second, above which 429 is answered; 0: no limit
	Seed      uint64        // of Fail and Jitter
	Stats     bool          // count, and serve GET /stats
}

// Register defines the flags of the options; what the options hold is the
// default.
func (o *Options) Register(fs *flag.FlagSet) {
	fs.DurationVar(&o.Latency, "latency", o.Latency, "time before each reply")
	fs.DurationVar(&o.Jitter, "jitter", o.Jitter, "up to this much more latency, drawn for each turn")
	fs.Float64Var(&o.Fail, "fail", o.Fail, "`probability` of a failed request: half are 500s, half connection resets")
	fs.Float64Var(&o.RateLimit, "rate_limit", o.RateLimit, "answer 429 with Retry-After above `N` requests a second (0: no limit)")
	fs.Uint64Var(&o.Seed, "seed", o.Seed, "seed of failures and jitter")
	fs.BoolVar(&o.Stats, "stats", o.Stats, "count requests and turns for GET /stats")
}

func (o Options) check() error {
	switch {
	case o.Latency < 0:
		return fmt.Errorf("%w: latency: %v is below 0", ErrOptions, o.Latency)
	case o.Jitter < 0:
		return fmt.Errorf("%w: jitter: %v is below 0", ErrOptions, o.Jitter)
	case !(o.Fail >= 0 && o.Fail <= 1):
		return fmt.Errorf("%w: fail: %v is no probability from 0 to 1", ErrOptions, o.Fail)
	case !(o.RateLimit >= 0 && o.RateLimit <= 1e9):
		return fmt.Errorf("%w: rate_limit: %v is not from 0 to 1e9 requests a second", ErrOptions, o.RateLimit)
	}
	return nil
}
