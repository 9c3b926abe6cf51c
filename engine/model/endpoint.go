package model

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// OpenRouterURL is the default base URL.
const OpenRouterURL = "https://openrouter.ai/api/v1"

// Kind tells endpoints apart that speak different dialects of the protocol.
// The zero value is Other.
type Kind int

// The kinds of endpoints.
const (
	Other Kind = iota
	OpenRouter
	Nous
	OpenAI
	Loopback
)

// Endpoint is where requests go.
type Endpoint struct {
	URL      string // base URL without a slash at its end
	Kind     Kind
	KeyEnv   string // environment variable that holds its key; empty for a loopback endpoint
	NeedsKey bool
}

// Resolve checks a base URL and says what is behind it. An empty one means
// OpenRouter. It returns ErrBaseURL, wrapped with what is wrong.
func Resolve(baseURL string) (Endpoint, error) {
	if baseURL == "" {
		baseURL = OpenRouterURL
	}
	u, err := parseBase(baseURL)
	if err != nil {
		return Endpoint{}, err
	}
	e := Endpoint{URL: strings.TrimRight(u.String(), "/"), KeyEnv: "OPENAI_API_KEY", NeedsKey: true}
	switch host := strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")); {
	case host == "openrouter.ai" || strings.HasSuffix(host, ".openrouter.ai"):
		e.Kind, e.KeyEnv = OpenRouter, "OPENROUTER_API_KEY"
	case host == "inference-api.nousresearch.com":
		e.Kind, e.KeyEnv = Nous, "NOUS_API_KEY"
	case host == "api.openai.com":
		e.Kind = OpenAI
	case isLoopback(host):
		e.Kind, e.KeyEnv, e.NeedsKey = Loopback, "", false
	}
	if e.Kind != Other && e.Kind != Loopback && u.Scheme != "https" {
		return Endpoint{}, fmt.Errorf("%w %q: use https, the key would travel in the clear", ErrBaseURL, baseURL)
	}
	return e, nil
}

func parseBase(baseURL string) (*url.URL, error) {
	fail := func(what string) (*url.URL, error) {
		shown, _, _ := strings.Cut(baseURL, "?") // a query may hold a key
		return nil, fmt.Errorf("%w %q: %s", ErrBaseURL, oneLine(shown), what)
	}
	u, err := url.Parse(baseURL)
	switch {
	case err != nil || strings.ContainsAny(baseURL, " \t\r\n"):
		return nil, fmt.Errorf("%w: not a URL; it looks like https://host/v1", ErrBaseURL)
	case u.User != nil:
		return nil, fmt.Errorf("%w: a name or password in it is not supported, give the key as api_key", ErrBaseURL)
	case u.Scheme != "http" && u.Scheme != "https":
		return fail("it must begin with http:// or https://")
	case u.Hostname() == "":
		return fail("it names no host")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return fail("it must not have a query or a fragment")
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions"):
		return fail("leave /chat/completions out, it is added")
	}
	return u, nil
}

// isLoopback reports whether a host is this machine. The unspecified address
// counts, since connecting to it reaches the loopback interface.
func isLoopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && (addr.Unmap().IsLoopback() || addr.IsUnspecified())
}

// versioned is a hint at the base URL that was meant, if this one has no version.
func (e Endpoint) versioned() string {
	if strings.Contains(e.URL, "/v1") {
		return ""
	}
	return "; it may be " + e.URL + "/v1"
}

// Key returns the key to use: the one given by a flag, else the one in the
// endpoint's environment variable. It returns ErrNoKey if one is needed and
// there is none. A loopback endpoint never gets a key from the environment: who
// listens there may be anybody, and local servers do not ask for one.
func (e Endpoint) Key(given string, getenv func(string) string) (string, error) {
	key := strings.TrimSpace(given)
	if key == "" && e.KeyEnv != "" {
		key = strings.TrimSpace(getenv(e.KeyEnv))
	}
	if key == "" && e.NeedsKey {
		return "", fmt.Errorf("%w for %s: set %s or give --api_key", ErrNoKey, e.URL, e.KeyEnv)
	}
	for _, c := range []byte(key) {
		if c <= ' ' || c >= 0x7f {
			return "", fmt.Errorf("%w: it holds a character that cannot be sent in a header", ErrKey)
		}
	}
	return key, nil
}
