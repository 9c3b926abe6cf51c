package model

import (
	"net"
	"net/http"
	"time"
)

const (
	// Idle connections are given up before a server does it, since a request
	// on a connection that is just being closed fails. Local servers (uvicorn,
	// node) wait 5 s; those behind TLS, where a new connection is dear, 60 s
	// and more.
	idlePlain = 4 * time.Second
	idleTLS   = 50 * time.Second

	dialTimeout = 15 * time.Second

	// An HTTP/2 connection that is silent for so long is pinged, and is given
	// up without an answer; otherwise all requests on it hang until they time
	// out.
	pingAfter   = 15 * time.Second
	pingTimeout = 10 * time.Second
)

// requestBuffer holds an ordinary request whole, in bytes, so that it takes one
// write.
const requestBuffer = 16 << 10

// newTransport makes a pool with a place for every worker's connection; the
// default one keeps two per host.
func newTransport(workers int, tls bool) *http.Transport {
	idle := idlePlain
	if tls {
		idle = idleTLS
	}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}).DialContext,
		WriteBufferSize:     requestBuffer,
		MaxIdleConnsPerHost: max(workers, 2),
		IdleConnTimeout:     idle,
		TLSHandshakeTimeout: dialTimeout,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
}

// newHTTPClient follows no redirects: they would carry the key elsewhere, and
// turn a POST into a GET.
func newHTTPClient(rt http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     rt,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
