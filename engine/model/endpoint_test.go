package model

import (
	"errors"
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	tests := []struct {
		in   string
		want Endpoint
	}{
		{"", Endpoint{"https://openrouter.ai/api/v1", OpenRouter, "OPENROUTER_API_KEY", true}},
		{"https://openrouter.ai/api/v1/", Endpoint{"https://openrouter.ai/api/v1", OpenRouter, "OPENROUTER_API_KEY", true}},
		{"https://OpenRouter.ai./api/v1", Endpoint{"https://OpenRouter.ai./api/v1", OpenRouter, "OPENROUTER_API_KEY", true}},
		{"https://inference-api.nousresearch.com/v1", Endpoint{"https://inference-api.nousresearch.com/v1", Nous, "NOUS_API_KEY", true}},
		{"https://api.openai.com/v1", Endpoint{"https://api.openai.com/v1", OpenAI, "OPENAI_API_KEY", true}},
		{"https://evilopenrouter.ai/v1", Endpoint{"https://evilopenrouter.ai/v1", Other, "OPENAI_API_KEY", true}},
		{"http://gpu7.lan:8000/v1//", Endpoint{"http://gpu7.lan:8000/v1", Other, "OPENAI_API_KEY", true}},
		{"http://127.0.0.1:8000/v1", Endpoint{"http://127.0.0.1:8000/v1", Loopback, "", false}},
		{"http://localhost:11434/v1", Endpoint{"http://localhost:11434/v1", Loopback, "", false}},
		{"http://model.localhost", Endpoint{"http://model.localhost", Loopback, "", false}},
		{"http://[::1]:80/v1", Endpoint{"http://[::1]:80/v1", Loopback, "", false}},
		{"http://0.0.0.0:8000/v1", Endpoint{"http://0.0.0.0:8000/v1", Loopback, "", false}},
	}
	for _, tt := range tests {
		got, err := Resolve(tt.in)
		if err != nil || got != tt.want {
			t.Errorf("Resolve(%q) = %+v, %v; want %+v", tt.in, got, err, tt.want)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	tests := []struct{ in, says string }{
		{"openrouter.ai/api/v1", "http:// or https://"},
		{"ftp://host/v1", "http:// or https://"},
		{"localhost:8000", "http:// or https://"},
		{"https:///v1", "names no host"},
		{"https://host/v1?key=hunter22", "query"},
		{"https://host/v1?", "query"},
		{"https://host/v1#x", "fragment"},
		{"https://me:hunter22@host/v1", "api_key"},
		{"https://host/v1/chat/completions", "leave /chat/completions out"},
		{"https://host :80/v1", "not a URL"},
		{"https://ho\x00st/v1", "not a URL"},
		{"http://openrouter.ai/api/v1", "in the clear"},
	}
	for _, tt := range tests {
		_, err := Resolve(tt.in)
		if !errors.Is(err, ErrBaseURL) || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("Resolve(%q): %v; want %q", tt.in, err, tt.says)
		}
	}
}

func TestKey(t *testing.T) {
	env := map[string]string{"OPENAI_API_KEY": "from-openai", "OPENROUTER_API_KEY": "from-router", "NOUS_API_KEY": "from-nous\n"}
	tests := []struct{ url, given, want string }{
		{"", "", "from-router"},
		{"", " given ", "given"},
		{"https://inference-api.nousresearch.com/v1", "", "from-nous"},
		{"https://host/v1", "", "from-openai"},
		{"http://127.0.0.1:1/v1", "", ""},
		{"http://127.0.0.1:1/v1", "given", "given"},
	}
	for _, tt := range tests {
		e, err := Resolve(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Key(tt.given, func(name string) string { return env[name] })
		if err != nil || got != tt.want {
			t.Errorf("key for %q, given %q: %q, %v; want %q", tt.url, tt.given, got, err, tt.want)
		}
	}
	e, _ := Resolve("")
	if _, err := e.Key("", func(string) string { return "" }); !errors.Is(err, ErrNoKey) || !strings.Contains(err.Error(), "OPENROUTER_API_KEY") {
		t.Errorf("without a key: %v", err)
	}
	if _, err := e.Key("two words", nil); !errors.Is(err, ErrKey) || strings.Contains(err.Error(), "words") {
		t.Errorf("with a bad key: %v", err)
	}
}
