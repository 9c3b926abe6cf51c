package model

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

const (
	// DefaultRequestTimeout is the time limit of one request: long enough for
	// slow reasoning models, short enough that a silent endpoint does not hold
	// a worker for ever.
	DefaultRequestTimeout = 30 * time.Minute

	defaultUserAgent = "hermes-batch"
)

// Names of the field that holds the token limit.
const (
	limitOld = "max_tokens"
	limitNew = "max_completion_tokens"
)

// Options are the settings of a Client.
type Options struct {
	Endpoint       Endpoint
	Key            string              // empty: none is sent
	Workers        int                 // calls at the same time; sizes the pool of connections
	RequestTimeout time.Duration       // of each try; 0: DefaultRequestTimeout
	UserAgent      string              // empty: the program's name
	Mask           func(string) string // takes secrets beside Key out of errors, logs and replies; nil: none
	Log            *slog.Logger        // nil: none
	Transport      http.RoundTripper   // nil: a pool of its own

	// Time and chance, for tests. Nil: the real ones.
	Now    func() time.Time
	Sleep  func(ctx context.Context, d time.Duration) error
	Random func() float64 // in [0, 1)
}

// Client sends requests to one endpoint with one key. It is safe for concurrent
// use.
type Client struct {
	endpoint    Endpoint
	api         *openai.Client
	http        *http.Client
	timeout     time.Duration
	maxRateWait time.Duration
	mask        func(string) string
	log         *slog.Logger
	clock       clock
	gate        *gate

	answered  atomic.Bool // see history
	succeeded atomic.Bool
	newLimit  atomic.Bool // the endpoint wants limitNew
}

// New makes a client. No request is sent.
func New(o Options) (*Client, error) {
	if _, err := parseBase(o.Endpoint.URL); err != nil {
		return nil, err
	}
	c := &Client{
		endpoint: o.Endpoint, timeout: o.RequestTimeout, maxRateWait: maxRateWait,
		mask: maskKey(o.Key, o.Mask), log: o.Log,
		clock: clock{now: o.Now, sleep: o.Sleep, random: o.Random},
	}
	c.setDefaults()
	c.gate = &gate{clock: c.clock}
	rt := o.Transport
	if rt == nil {
		rt = newTransport(o.Workers, strings.HasPrefix(o.Endpoint.URL, "https:"))
	}
	agent := o.UserAgent
	if agent == "" {
		agent = defaultUserAgent
	}
	c.http = newHTTPClient(rt)
	c.api = newWire(o.Endpoint, o.Key, &doer{http: c.http, userAgent: agent, title: o.Endpoint.Kind == OpenRouter})
	return c, nil
}

func (c *Client) setDefaults() {
	if c.timeout <= 0 {
		c.timeout = DefaultRequestTimeout
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.clock.now == nil {
		c.clock.now = time.Now
	}
	if c.clock.sleep == nil {
		c.clock.sleep = sleep
	}
	if c.clock.random == nil {
		c.clock.random = rand.Float64
	}
}

// maskKey masks a key and what another mask knows. Keys of less than eight bytes
// would hit ordinary words.
func maskKey(key string, others func(string) string) func(string) string {
	return func(s string) string {
		if len(key) >= 8 {
			s = strings.ReplaceAll(s, key, "[secret]")
		}
		if others != nil {
			s = others(s)
		}
		return s
	}
}

// Close gives idle connections up.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Complete sends the conversation until there is a reply, an *Error, or the
// context ends, which gives an *Interrupted that wraps the context's error.
// Waiting, if not nil, is called with true before a wait for a rate limit and
// with false after it. The conversation is not changed.
func (c *Client) Complete(ctx context.Context, conv *Conversation, waiting func(bool)) (*Reply, error) {
	k := &call{client: c, conv: conv, waiting: waiting}
	return k.run(ctx)
}

// limitName is the field for the token limit.
func (c *Client) limitName(conv *Conversation) string {
	if c.newLimit.Load() || newTokenLimit(c.endpoint.Kind, conv.params.Model) {
		return limitNew
	}
	return limitOld
}

func (c *Client) history() history {
	return history{answered: c.answered.Load(), succeeded: c.succeeded.Load()}
}

// sleep waits, or returns the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
