package simulated

import "sync"

// mostTurns bounds the distinct turns that are told apart, 16 bytes and the
// map's own share each.
const mostTurns = 4 << 20

// Stats are what a Server counted since it was made. A turn is one model turn
// of one prompt: two copies of a prompt have the same turns.
type Stats struct {
	Requests      int64 `json:"requests"`       // chat requests that could be read
	Answered      int64 `json:"answered"`       // replies sent, empty ones excluded
	DistinctTurns int64 `json:"distinct_turns"` // different turns among them
	AnsweredTwice int64 `json:"answered_twice"` // replies to a turn that already had one
	Untracked     int64 `json:"untracked"`      // replies beyond the bound of the memory of turns
	InFlight      int64 `json:"in_flight"`
	MaxInFlight   int64 `json:"max_in_flight"`
	RateLimited   int64 `json:"rate_limited"` // 429s of the rate limit
	Failed        int64 `json:"failed"`       // 500s, resets and statuses that a marker asked for
	Empty         int64 `json:"empty"`        // empty replies
	Left          int64 `json:"left"`         // requests whose client did not wait
	BadRequests   int64 `json:"bad_requests"`
}

// counter keeps the stats. A nil counter counts nothing.
type counter struct {
	mu    sync.Mutex
	stats Stats
	seen  map[key]struct{}
}

func (c *counter) count(f func(*Stats)) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.stats)
}

func (c *counter) arrive() {
	c.count(func(s *Stats) {
		s.Requests++
		s.InFlight++
		s.MaxInFlight = max(s.MaxInFlight, s.InFlight)
	})
}

func (c *counter) leave() { c.count(func(s *Stats) { s.InFlight-- }) }

func (c *counter) answered(k key) {
	c.count(func(s *Stats) {
		s.Answered++
		_, again := c.seen[k]
		switch {
		case again:
			s.AnsweredTwice++
		case len(c.seen) >= mostTurns:
			s.Untracked++
		default:
			c.seen[k] = struct{}{}
			s.DistinctTurns++
		}
	})
}
