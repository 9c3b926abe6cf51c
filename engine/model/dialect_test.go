package model

import "testing"

func TestModelName(t *testing.T) {
	router, _ := Resolve("")
	other, _ := Resolve("https://host/v1")
	tests := []struct {
		e        Endpoint
		in, want string
	}{
		{router, "claude-sonnet-4.6", "anthropic/claude-sonnet-4.6"},
		{router, "anthropic/claude-sonnet-4.6", "anthropic/claude-sonnet-4.6"},
		{router, "Claude-Opus-4", "anthropic/Claude-Opus-4"},
		{router, "gpt-4o", "openai/gpt-4o"},
		{router, "o3-mini", "openai/o3-mini"},
		{router, "qwen3-8b", "qwen/qwen3-8b"},
		{router, "my-own-model", "my-own-model"},
		{other, "claude-sonnet-4.6", "claude-sonnet-4.6"},
	}
	for _, tt := range tests {
		if got := tt.e.Model(tt.in); got != tt.want {
			t.Errorf("%v: %q became %q, want %q", tt.e.Kind, tt.in, got, tt.want)
		}
	}
}

func TestReasoningFor(t *testing.T) {
	tests := []struct {
		kind          Kind
		effort        string
		disabled      bool
		object, field string
	}{
		{OpenRouter, "", false, `{"enabled":true,"effort":"medium"}`, ""},
		{Nous, "", false, `{"enabled":true,"effort":"medium"}`, ""},
		{OpenRouter, "xhigh", false, `{"enabled":true,"effort":"xhigh"}`, ""},
		{OpenRouter, "none", false, `{"effort":"none"}`, ""},
		{OpenRouter, "high", true, `{"effort":"none"}`, ""},
		{Nous, "", true, `{"effort":"none"}`, ""},
		{OpenAI, "", false, ``, ""},
		{OpenAI, "low", false, ``, "low"},
		{Loopback, "low", true, ``, "none"},
		{Other, "none", false, ``, "none"},
	}
	for _, tt := range tests {
		object, field := ReasoningFor(Endpoint{Kind: tt.kind}, tt.effort, tt.disabled)
		if string(object) != tt.object || field != tt.field {
			t.Errorf("%v, %q, %v: got %s, %q; want %s, %q", tt.kind, tt.effort, tt.disabled, object, field, tt.object, tt.field)
		}
	}
}

func TestProviderFor(t *testing.T) {
	if got := ProviderFor(nil, nil, nil, ""); got != nil {
		t.Errorf("nothing became %s", got)
	}
	got := ProviderFor([]string{"a", `b"`}, []string{"c"}, []string{"d"}, "price")
	if want := `{"only":["a","b\""],"ignore":["c"],"order":["d"],"sort":"price"}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := ProviderFor(nil, nil, nil, "latency"), `{"sort":"latency"}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
