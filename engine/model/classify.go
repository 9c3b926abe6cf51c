package model

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// fault is why one try brought no reply, and what follows from it.
type fault struct {
	class   Class
	reason  string
	status  int
	message string
	cause   error

	why     string            // of a rejected reply; empty: nothing came that is worth keeping
	told    time.Duration     // wait that the endpoint asked for; 0: none
	headers map[string]string // that stood in the body

	rate  bool // a rate limit: waiting for it is no try
	cut   bool // the reply was cut: asked for again, within a bound of its own
	raced bool // the server closed an idle connection just then
	limit bool // the token limit goes under another name here
	page  bool // a web page in the place of a reply
}

func transient(reason, message string) *fault {
	return &fault{class: Transient, reason: reason, message: message}
}

// replyFault is that of a reply that came and cannot be used.
func replyFault(why, message string) *fault {
	f := transient(ReasonServer, message)
	f.why = why
	return f
}

func cutFault(why, message string) *fault {
	f := replyFault(why, message)
	f.reason, f.cut = ReasonCutReplies, true
	return f
}

// bodyFault is that of an error in the body of a good status.
func bodyFault(why string, raw []byte) *fault {
	d := detailOf(raw)
	f := classify(d.status, d)
	f.why = why
	return f
}

// byCode are the codes, types and statuses that providers put in their errors,
// lower case. What is not here is judged by the HTTP status.
var byCode = map[string]fault{
	"context_length_exceeded":   {class: Permanent, reason: ReasonContext},
	"exceed_context_size_error": {class: Permanent, reason: ReasonContext},
	"request_too_large":         {class: Permanent, reason: ReasonContext},
	"string_above_max_length":   {class: Permanent, reason: ReasonContext},

	"content_filter":           {class: Permanent, reason: ReasonRefusal},
	"content_policy_violation": {class: Permanent, reason: ReasonRefusal},
	"moderation_blocked":       {class: Permanent, reason: ReasonRefusal},

	"model_not_found":    {class: Permanent, reason: ReasonModelNotFound},
	"deploymentnotfound": {class: Permanent, reason: ReasonModelNotFound},

	"insufficient_quota":         {class: Fatal, reason: ReasonPayment},
	"billing_hard_limit_reached": {class: Fatal, reason: ReasonPayment},
	"billing_not_active":         {class: Fatal, reason: ReasonPayment},
	"billing_error":              {class: Fatal, reason: ReasonPayment},

	"invalid_api_key":      {class: Fatal, reason: ReasonCredentials},
	"api_key_invalid":      {class: Fatal, reason: ReasonCredentials},
	"account_deactivated":  {class: Fatal, reason: ReasonCredentials},
	"authentication_error": {class: Fatal, reason: ReasonCredentials},
	"unauthenticated":      {class: Fatal, reason: ReasonCredentials},

	"rate_limit_exceeded": {class: Transient, reason: ReasonRateLimit, rate: true},
	"rate_limit_error":    {class: Transient, reason: ReasonRateLimit, rate: true},
	"resource_exhausted":  {class: Transient, reason: ReasonRateLimit, rate: true},

	"overloaded_error": {class: Transient, reason: ReasonServer},
	"server_error":     {class: Transient, reason: ReasonServer},
	"unavailable":      {class: Transient, reason: ReasonServer},
}

// shapes are known messages of errors that bear no telling code: parts of them,
// lower case, by the fault they stand for. They are asked only about statuses
// that say nothing by themselves.
var shapes = []struct {
	fault fault
	parts []string
}{
	{fault{class: Permanent, reason: ReasonContext}, []string{
		"maximum context length", "context length exceeded", "context window", "exceeds the available context size",
		"exceed context size", "prompt is too long", "input is too long", "input token count", "maximum prompt length",
		"maximum input length", "exceeds the model's context", "too large for model with", "longer than the context",
	}},
	{fault{class: Permanent, reason: ReasonModelNotFound}, []string{
		"is not a valid model id", "no such model", "unknown model", "model not found",
	}},
	{fault{class: Fatal, reason: ReasonCredentials}, []string{
		"api key not valid", "incorrect api key", "invalid api key",
	}},
}

// classify judges an error by its code, else by its status, else, where neither
// tells, by its message.
func classify(status int, d detail) *fault {
	f := byDetail(status, d)
	f.status, f.message, f.headers = status, d.message, d.headers
	if f.message == "" {
		f.message = http.StatusText(status)
	}
	return &f
}

func byDetail(status int, d detail) fault {
	if d.flagged && status/100 == 4 {
		return fault{class: Permanent, reason: ReasonRefusal}
	}
	for _, word := range []string{d.code, d.kind} {
		if f, known := byCode[strings.ToLower(word)]; known && !misplaced(status, f) {
			return f
		}
	}
	return byStatus(status, d)
}

// misplaced reports whether a type contradicts the status so that the status
// must be believed: some servers call everything a rate_limit_error or a
// server_error.
func misplaced(status int, f fault) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests:
		return f.class == Transient
	}
	return false
}

func byStatus(status int, d detail) fault {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fault{class: Fatal, reason: ReasonCredentials}
	case http.StatusPaymentRequired:
		return fault{class: Fatal, reason: ReasonPayment}
	case http.StatusTooManyRequests:
		return fault{class: Transient, reason: ReasonRateLimit, rate: true}
	case http.StatusRequestEntityTooLarge:
		return fault{class: Permanent, reason: ReasonContext}
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return fault{class: Transient, reason: ReasonServer}
	case http.StatusNotFound:
		return fault{class: Permanent, reason: ReasonModelNotFound}
	}
	if status/100 != 4 && status != 0 && status/100 != 2 {
		return fault{class: Transient, reason: ReasonServer}
	}
	if f, known := byShape(d.message); known {
		return f
	}
	if status/100 == 4 {
		return fault{class: Permanent, reason: ReasonBadRequest}
	}
	return fault{class: Transient, reason: ReasonServer}
}

func byShape(message string) (fault, bool) {
	message = strings.ToLower(message)
	for _, s := range shapes {
		for _, part := range s.parts {
			if strings.Contains(message, part) {
				return s.fault, true
			}
		}
	}
	return fault{}, false
}

// history is what a client knows of its endpoint from earlier requests.
type history struct {
	answered  bool // something there speaks HTTP
	succeeded bool // and gave a usable reply
}

// statusFault judges a response whose status is not one of success.
func statusFault(ex *exchange, e Endpoint, past history) *fault {
	d := detailOf(ex.raw)
	f := classify(ex.status, d)
	switch {
	case ex.status/100 == 3:
		f = transient(ReasonServer, "redirected to "+ex.header.Get("Location")+"; redirects are not followed")
		f.status = ex.status
		if !past.succeeded {
			f.class, f.reason = Fatal, ReasonEndpoint
		}
	case wrongPlace(ex.status, d):
		f = transient(ReasonServer, d.message)
		f.status = ex.status
		if !past.succeeded {
			f.class, f.reason = Fatal, ReasonEndpoint
			f.message = fmt.Sprintf("no chat completions at %s (%s)%s", e.URL, d.message, e.versioned())
		}
	case ex.status == http.StatusForbidden && !d.object && past.succeeded:
		// Not the model server speaks, but a firewall before it, about
		// something in this request.
		f.class, f.reason = Permanent, ReasonBadRequest
	case ex.status == http.StatusBadRequest && wantsNewLimit(d):
		f.limit = true
	}
	return f
}

// mayTell reports whether a fault is of the kind that tells how long to stay
// away.
func (f *fault) mayTell() bool {
	return f.rate || f.status == http.StatusServiceUnavailable || f.status == statusOverloaded
}

// statusOverloaded is what Anthropic answers in place of 503.
const statusOverloaded = 529

// wrongPlace reports whether a server answers that has no chat completions at
// this path, as against one that does not know the model.
func wrongPlace(status int, d detail) bool {
	switch status {
	case http.StatusMethodNotAllowed:
		return true
	case http.StatusNotFound:
		return !d.object && !strings.Contains(strings.ToLower(d.message), "model") ||
			d.code == "unknown_url" || d.message == "File Not Found"
	}
	return false
}

// wantsNewLimit reports whether a model refuses max_tokens and would take
// max_completion_tokens.
func wantsNewLimit(d detail) bool {
	return d.code == "unsupported_parameter" && d.param == limitOld ||
		strings.Contains(d.message, limitNew)
}

// transportFault judges a request that got no response.
func transportFault(ex *exchange, e Endpoint, past history) *fault {
	err := ex.err
	f := transient(ReasonNetwork, err.Error())
	f.cause = err
	var outer *url.Error
	if errors.As(err, &outer) {
		f.message = outer.Err.Error() // without method and URL
	}
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case ex.timedOut:
		f.reason, f.message = ReasonTimeout, "no reply within the time limit of a request"
	case past.answered:
	case errors.Is(err, syscall.ECONNREFUSED),
		errors.As(err, &dns) && dns.IsNotFound,
		errors.As(err, &certificate), errors.As(err, &record):
		f.class, f.reason = Fatal, ReasonEndpoint
		f.message = "cannot reach " + e.URL + ": " + f.message
	}
	return f
}
