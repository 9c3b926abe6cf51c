package model

import (
	"encoding/json"
	"strings"
)

// vendors are OpenRouter's prefixes for the families of models that people
// name without one.
var vendors = []struct{ family, vendor string }{
	{"claude-", "anthropic"},
	{"gpt-", "openai"}, {"chatgpt-", "openai"}, {"o1", "openai"}, {"o3", "openai"}, {"o4", "openai"},
	{"gemini-", "google"}, {"gemma-", "google"},
	{"deepseek-", "deepseek"},
	{"grok-", "x-ai"},
	{"hermes-", "nousresearch"},
	{"kimi-", "moonshotai"},
	{"llama-", "meta-llama"},
	{"mistral-", "mistralai"}, {"ministral-", "mistralai"}, {"mixtral-", "mistralai"}, {"codestral-", "mistralai"}, {"devstral-", "mistralai"},
	{"qwen", "qwen"}, {"qwq-", "qwen"},
	{"glm-", "z-ai"},
	{"minimax-", "minimax"},
}

// Model returns the name under which the endpoint knows a model. OpenRouter
// wants a vendor before it, so that a bare name of a known family gets one;
// everything else stays as it is.
func (e Endpoint) Model(name string) string {
	if e.Kind != OpenRouter || strings.Contains(name, "/") {
		return name
	}
	lower := strings.ToLower(name)
	for _, v := range vendors {
		if strings.HasPrefix(lower, v.family) {
			return v.vendor + "/" + name
		}
	}
	return name
}

// Efforts returns the allowed reasoning efforts, weakest first.
func Efforts() []string {
	return []string{"none", "minimal", "low", "medium", "high", "xhigh"}
}

// ReasoningFor returns what is really sent to an endpoint for the reasoning
// settings: the value of "reasoning" or the value of "reasoning_effort", never
// both. OpenRouter and Nous are asked for medium effort if nothing is set;
// other endpoints are sent nothing then, since many refuse what they do not
// know. Disabled wins over the effort.
func ReasoningFor(e Endpoint, effort string, disabled bool) (object json.RawMessage, field string) {
	if disabled {
		effort = "none"
	}
	if e.Kind != OpenRouter && e.Kind != Nous {
		return nil, effort
	}
	switch effort {
	case "none":
		return json.RawMessage(`{"effort":"none"}`), ""
	case "":
		effort = "medium"
	}
	object = append(object, `{"enabled":true,"effort":`...)
	object = appendString(object, effort)
	return append(object, '}'), ""
}

// ProviderFor returns OpenRouter's routing object, nil if nothing is asked for.
func ProviderFor(only, ignore, order []string, sort string) json.RawMessage {
	var b []byte
	key := func(name string) {
		if b == nil {
			b = append(b, '{')
		} else {
			b = append(b, ',')
		}
		b = append(appendString(b, name), ':')
	}
	list := func(name string, values []string) {
		if len(values) == 0 {
			return
		}
		key(name)
		for i, v := range values {
			b = append(b, "[,"[min(i, 1)])
			b = appendString(b, v)
		}
		b = append(b, ']')
	}
	list("only", only)
	list("ignore", ignore)
	list("order", order)
	if sort != "" {
		key("sort")
		b = appendString(b, sort)
	}
	if b != nil {
		b = append(b, '}')
	}
	return b
}

// echoField returns the name under which the reasoning of an earlier turn goes
// back to an endpoint, empty if it does not.
//
// Servers that answer with reasoning_content are of two minds: several refuse
// the next tool turn if it does not come back, and the others ignore it, so it
// does. OpenRouter takes reasoning back for all its models and hands it on
// where that helps. Elsewhere reasoning under another name, or in the text, is
// dropped, as the chat templates of such models do with earlier turns and
// because strict servers refuse message fields that they do not know.
func echoField(kind Kind, field string) string {
	switch {
	case field == fieldReasoningContent:
		return field
	case field == fieldReasoning && kind == OpenRouter:
		return field
	}
	return ""
}

// newTokenLimit reports whether a model is known to want its token limit as
// max_completion_tokens. Only OpenAI's own endpoint is judged by name: others
// serve models under any name they like.
func newTokenLimit(kind Kind, model string) bool {
	if kind != OpenAI {
		return false
	}
	for _, family := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(model, family) {
			return true
		}
	}
	return false
}

// legalName reports whether a tool's name may stand in a message: providers
// check it against this pattern.
func legalName(name string) bool {
	if name == "" || len(name) > 64 {
		return false
	}
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
