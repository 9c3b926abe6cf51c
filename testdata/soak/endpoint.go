package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"
)

// chaos says how bad the wire is.
type chaos struct {
	seed    uint64
	faults  float64       // part of the requests
	odd     float64       // part of the replies
	latency time.Duration // of a reply: half of it, and up to as much again
	limit   time.Duration // of a request, as the program has it
	outages time.Duration // from one moment in which connections are refused to the next, about
}

// outage is the longest time for which connections are refused.
const outage = 600 * time.Millisecond

// endpoint is the model behind a bad wire. It remembers what it did to whom.
type endpoint struct {
	chaos  chaos
	model  *model
	url    string // with /v1
	door   *door
	server *http.Server
	stop   context.CancelFunc
	ended  sync.WaitGroup

	peace sync.Mutex // held while no connection is to be refused

	mu       sync.Mutex
	turns    map[place]*history
	met      map[string]int // faults by name
	requests int
	outages  int
	last     int           // highest number of a prompt
	news     chan struct{} // closed at the next reply that is delivered
}

// place is a turn of a prompt.
type place struct{ number, turn int }

// history is what became of the requests for one turn.
type history struct {
	tries  int
	whole  int      // replies that were delivered
	faults []*fault // since then
}

// startEndpoint listens where no other program gets a port without asking for
// it, so that the port is free again after an outage.
func startEndpoint(c chaos, m *model) (*endpoint, error) {
	e := &endpoint{chaos: c, model: m, turns: map[place]*history{}, met: map[string]int{}, last: -1, news: make(chan struct{})}
	var listener net.Listener
	var err error
	for range 100 {
		if listener, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(10000))); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	e.url, e.door = "http://"+address+"/v1", &door{address: address, inner: listener}
	e.server = &http.Server{Handler: e}
	ctx, stop := context.WithCancel(context.Background())
	e.stop = stop
	e.ended.Go(func() { _ = e.server.Serve(e.door) }) // until close
	e.ended.Go(func() { e.refuse(ctx) })
	return e, nil
}

func (e *endpoint) close() {
	e.stop()
	_ = e.server.Close()
	e.ended.Wait()
}

// refuse refuses connections now and then, and closes those that are idle.
func (e *endpoint) refuse(ctx context.Context) {
	random := rand.New(rand.NewPCG(e.chaos.seed, 1))
	for sleep(ctx, e.chaos.outages/2+time.Duration(random.Int64N(int64(e.chaos.outages)))) {
		e.peace.Lock()
		e.server.SetKeepAlivesEnabled(false)
		err := e.door.shut(outage/3 + time.Duration(random.Int64N(int64(outage)*2/3)))
		e.server.SetKeepAlivesEnabled(true)
		e.peace.Unlock()
		if err != nil {
			_ = e.door.Close() // nobody is answered any more, which will be noticed
			return
		}
		e.mu.Lock()
		e.outages++
		e.mu.Unlock()
	}
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, err := read(r)
	if err != nil || a.number < 0 {
		http.Error(w, "not a request of this run", http.StatusBadRequest)
		return
	}
	random := rand.New(rand.NewPCG(e.chaos.seed, e.arrive(a)))
	s := &spoiler{w: w, r: r, random: random, limit: e.chaos.limit}
	f := e.fault(a, random)
	if f == nil || !f.bare {
		if !s.pause(e.chaos.latency/2 + time.Duration(random.Int64N(int64(e.chaos.latency)))) {
			return
		}
		s.reply = e.model.reply(r, a)
	}
	switch {
	case f != nil && f.bare:
		e.meets(a, f)
		f.do(s)
	case s.reply.status != http.StatusOK:
		s.deliver()
		return
	case f != nil:
		e.meets(a, f)
		f.do(s)
	default:
		if random.Float64() < e.chaos.odd {
			s.reply.body = bend(s.reply.body, random)
		}
		s.deliver()
	}
	if s.whole {
		e.delivered(a)
	}
}

// arrive counts a request and returns what its chances depend on: how often the
// turn was asked for, and nothing else that happened.
func (e *endpoint) arrive(a *asked) (seed uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests++
	e.last = max(e.last, a.number)
	h := e.turns[place{a.number, a.turn}]
	if h == nil {
		h = &history{}
		e.turns[place{a.number, a.turn}] = h
	}
	h.tries++
	return uint64(a.number)<<24 | uint64(a.turn)<<12 | uint64(h.tries)
}

// fault is what happens to a request, nil for most of them.
func (e *endpoint) fault(a *asked, random *rand.Rand) *fault {
	if hex := e.model.deal.kind(a.number).hex; hex != "" {
		return faultNamed(hex)
	}
	if random.Float64() >= e.chaos.faults {
		return nil
	}
	return drawFault(random)
}

// meets notes a fault before it is there, so that it is known to who sees what
// came of it.
func (e *endpoint) meets(a *asked, f *fault) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.met[f.name]++
	h := e.turns[place{a.number, a.turn}]
	h.faults = append(h.faults, f)
}

func (e *endpoint) delivered(a *asked) {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.turns[place{a.number, a.turn}]
	h.whole++
	h.faults = nil
	close(e.news)
	e.news = make(chan struct{})
}

// nextReply is closed when the next reply has been delivered.
func (e *endpoint) nextReply() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.news
}

// highest is the highest number of a prompt that was asked about.
func (e *endpoint) highest() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}

// total is how many requests there were.
func (e *endpoint) total() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.requests
}

// faultsOf are those that a prompt met in a row in its last turn.
func (e *endpoint) faultsOf(number int) (list []*fault) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for turn := 0; ; turn++ {
		h := e.turns[place{number, turn}]
		if h == nil {
			return list
		}
		list = h.faults
	}
}

// tally tells how many turns were answered, and how many answers were not the
// first one, but for prompts that are excused.
func (e *endpoint) tally(excused func(number int) bool) (turns, again int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for p, h := range e.turns {
		if h.whole > 0 {
			turns++
		}
		if h.whole > 1 && !excused(p.number) {
			again += h.whole - 1
		}
	}
	return turns, again
}

// sleep tells whether it was not woken.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
