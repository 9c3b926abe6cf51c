package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"hermes-batch/engine/model"
	"hermes-batch/tools"
)

// Settings are what a trajectory's content depends on. Their canonical bytes
// are stored, and their hash is the fingerprint that rows carry. Keys, URLs,
// workers, time limits and filters are no part of it.
type Settings struct {
	Model           string
	Chances         string // content of the distribution
	Seed            int64
	MaxTurns        int
	MaxTokens       int
	Reasoning       json.RawMessage // as sent; nil: nothing
	ReasoningEffort string
	Provider        json.RawMessage
	EphemeralPrompt string
	Prefill         []model.Message
	Sandbox         string
	DefaultImage    string
}

// settingsFormat is raised when the canonical form gets another meaning.
const settingsFormat = "1"

// field is one setting in canonical form; the value is a JSON text.
type field struct{ name, value string }

func (s *Settings) fields() []field {
	return []field{
		{"format", settingsFormat},
		{"model", quote(s.Model)},
		{"distribution", quote(s.Chances)},
		{"distribution_seed", strconv.FormatInt(s.Seed, 10)},
		{"max_turns", strconv.Itoa(s.MaxTurns)},
		{"max_tokens", strconv.Itoa(s.MaxTokens)},
		{"reasoning", orNull(s.Reasoning)},
		{"reasoning_effort", quote(s.ReasoningEffort)},
		{"provider", orNull(s.Provider)},
		{"ephemeral_system_prompt", quote(s.EphemeralPrompt)},
		{"prefill_messages", canonicalPrefill(s.Prefill)},
		{"sandbox", quote(s.Sandbox)},
		{"docker_image", quote(s.DefaultImage)},
	}
}

// Canonical is the JSON text whose hash is the fingerprint: keys in a fixed
// order, one a line, strings quoted by the rule of quote.
func (s *Settings) Canonical() []byte {
	var out bytes.Buffer
	for i, f := range s.fields() {
		out.WriteString(map[bool]string{true: "{\n", false: ",\n"}[i == 0])
		fmt.Fprintf(&out, "%q: %s", f.name, f.value)
	}
	out.WriteString("\n}\n")
	return out.Bytes()
}

// quote writes a JSON string: only the two characters and the control
// characters that JSON forbids are escaped, as \u00xx.
func quote(s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r < 0x20:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}

func orNull(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "null"
	}
	return string(raw)
}

func canonicalPrefill(messages []model.Message) string {
	parts := make([]string, len(messages))
	for i, m := range messages {
		parts[i] = fmt.Sprintf(`{"role": %s, "content": %s}`, quote(m.Role), quote(m.Content))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// parseSettings is the inverse of Canonical.
func parseSettings(canonical []byte) (*Settings, error) {
	var v struct {
		Model           string          `json:"model"`
		Chances         string          `json:"distribution"`
		Seed            int64           `json:"distribution_seed"`
		MaxTurns        int             `json:"max_turns"`
		MaxTokens       int             `json:"max_tokens"`
		Reasoning       json.RawMessage `json:"reasoning"`
		ReasoningEffort string          `json:"reasoning_effort"`
		Provider        json.RawMessage `json:"provider"`
		EphemeralPrompt string          `json:"ephemeral_system_prompt"`
		Prefill         []prefill       `json:"prefill_messages"`
		Sandbox         string          `json:"sandbox"`
		DefaultImage    string          `json:"docker_image"`
	}
	if err := json.Unmarshal(canonical, &v); err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	return &Settings{
		Model: v.Model, Chances: v.Chances, Seed: v.Seed, MaxTurns: v.MaxTurns, MaxTokens: v.MaxTokens,
		Reasoning: notNull(v.Reasoning), ReasoningEffort: v.ReasoningEffort, Provider: notNull(v.Provider),
		EphemeralPrompt: v.EphemeralPrompt, Prefill: prefillMessages(v.Prefill),
		Sandbox: v.Sandbox, DefaultImage: v.DefaultImage,
	}, nil
}

func notNull(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// differences names the settings that differ, old value first.
func differences(old, now *Settings) []string {
	var out []string
	a, b := old.fields(), now.fields()
	for i := range a {
		if a[i].value != b[i].value {
			out = append(out, fmt.Sprintf("%s: %s -> %s", a[i].name, shorten(a[i].value), shorten(b[i].value)))
		}
	}
	return out
}

func shorten(text string) string {
	const most = 80
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// settings are the Settings that the options ask for.
func (o *Options) settings(endpoint model.Endpoint, dist tools.Distribution) (*Settings, error) {
	prefill, err := readPrefill(o.PrefillFile)
	if err != nil {
		return nil, err
	}
	s := &Settings{
		Model:           endpoint.Model(o.Model),
		Chances:         string(dist.Canonical()),
		Seed:            o.DistributionSeed,
		MaxTurns:        o.MaxTurns,
		MaxTokens:       o.MaxTokens,
		Provider:        model.ProviderFor(o.ProvidersAllowed, o.ProvidersIgnored, o.ProvidersOrder, o.ProviderSort),
		EphemeralPrompt: o.EphemeralPrompt,
		Prefill:         prefill,
		Sandbox:         sandboxLocal,
	}
	s.Reasoning, s.ReasoningEffort = model.ReasoningFor(endpoint, o.ReasoningEffort, o.ReasoningDisabled)
	return s, nil
}

type prefill struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func prefillMessages(list []prefill) []model.Message {
	var out []model.Message
	for _, m := range list {
		out = append(out, model.Message{Role: m.Role, Content: m.Content})
	}
	return out
}

// maxPrefill bounds the file of prefilled messages, in bytes.
const maxPrefill = 64 << 20

func readBounded(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s is larger than %d MiB", path, most>>20)
	}
	return text, err
}

// readPrefill reads a file of messages; "" means none.
func readPrefill(path string) ([]model.Message, error) {
	if path == "" {
		return nil, nil
	}
	text, err := readBounded(path, maxPrefill)
	if err != nil {
		return nil, Usagef("--prefill_messages_file: %v", err)
	}
	var list []prefill
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	dec.DisallowUnknownFields()
	err = dec.Decode(&list)
	if _, end := dec.Token(); err == nil && end != io.EOF {
		err = errors.New("text follows the array")
	}
	if err != nil {
		return nil, Usagef("--prefill_messages_file: %s is no JSON array of {role, content}: %v", path, err)
	}
	for i, m := range list {
		if !slices.Contains([]string{"system", "user", "assistant"}, m.Role) {
			return nil, Usagef("--prefill_messages_file: %s: message %d has role %q; allowed: system, user, assistant", path, i, m.Role)
		}
	}
	return prefillMessages(list), nil
}
