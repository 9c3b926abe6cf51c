package model

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// try sends the request once.
func (k *call) try(ctx context.Context) (*Reply, *fault) {
	c := k.client
	limitName := c.limitName(k.conv)
	ex := &exchange{body: k.conv.body(limitName)}
	k.sent++
	began := c.clock.now()
	ex.do(ctx, c.api, c.timeout)
	at := c.clock.now()

	reply, f := c.outcome(ex, k.conv)
	if f == nil {
		c.succeeded.Store(true)
		c.gate.passed(began)
		reply.At, reply.Took = at.UTC(), at.Sub(began)
		return reply, nil
	}
	if f.status == 0 {
		f.status = ex.status
	}
	if f.mayTell() {
		f.told = toldWait(ex.header, f.headers, at)
	}
	f.limit = f.limit && limitName == limitOld && k.conv.params.MaxTokens > 0
	if f.rate || f.told > 0 {
		c.gate.hold(began, f.told)
	}
	if f.why != "" && (ctx.Err() == nil || ex.readErr == nil) {
		k.rejected = append(k.rejected, Rejected{
			Raw: reply.Raw, Usage: reply.Usage, Why: f.why, Status: ex.status, At: at.UTC(), Took: at.Sub(began),
		})
	}
	return nil, f
}

// outcome judges what came back. The reply is never nil if the fault is that of
// a reply.
func (c *Client) outcome(ex *exchange, conv *Conversation) (*Reply, *fault) {
	past := c.history()
	if ex.status == 0 {
		f := transportFault(ex, c.endpoint, past)
		f.raced = ex.reused.Load() && !ex.began.Load() && f.reason == ReasonNetwork
		return nil, f
	}
	c.answered.Store(true)
	ex.mask(c.mask)
	if ex.status/100 != 2 {
		return nil, statusFault(ex, c.endpoint, past)
	}
	if ex.readErr != nil {
		return &Reply{Raw: ex.raw}, cutBody(ex)
	}
	n := normaliser{turn: conv.turns, taken: conv.ids, mask: c.mask}
	return n.normalise(ex.raw)
}

// cutBody is the fault of a reply whose body did not come to its end.
func cutBody(ex *exchange) *fault {
	f := replyFault(whyCutBody, "the reply broke off: "+ex.readErr.Error())
	f.reason, f.cause = ReasonNetwork, ex.readErr
	switch {
	case errors.Is(ex.readErr, errTooLarge):
		f.why, f.reason, f.message = whyTooLarge, ReasonServer, ex.readErr.Error()
	case ex.timedOut:
		f.reason, f.message = ReasonTimeout, "the reply did not end within the time limit of a request"
	}
	return f
}

// lastWord makes a fault that used up all tries fatal if the endpoint has never
// sent anything but web pages: the URL is that of something else.
func (c *Client) lastWord(f *fault) {
	if f.page && !c.succeeded.Load() {
		f.class, f.reason = Fatal, ReasonEndpoint
		f.message = "no model answers at " + c.endpoint.URL + " (" + f.message + ")" + c.endpoint.versioned()
	}
}

func (c *Client) logFault(ctx context.Context, k *call, f *fault, pause time.Duration, again bool) {
	if !c.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	c.log.LogAttrs(ctx, slog.LevelDebug, "model request brought no reply",
		slog.String("reason", f.reason), slog.Int("status", f.status), slog.Int("tries", k.sent),
		slog.Bool("again", again), slog.Duration("pause", pause), slog.Duration("told", f.told),
		slog.String("message", oneLine(c.mask(f.message))))
}
