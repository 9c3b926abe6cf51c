package flags

import (
	"flag"
	"fmt"
	"strings"
	"testing"
)

// readInto does what the layer above the flag package does with a file.
func readInto(fs *flag.FlagSet, text string) error {
	err := Config(fs)(strings.NewReader(text), func(name, value string) error {
		if err := fs.Set(name, value); err != nil {
			return fmt.Errorf("error setting flag %q from config file: %w", name, err)
		}
		return nil
	})
	return Explain(err, fs)
}

func TestConfig(t *testing.T) {
	tests := []struct{ name, text, flag, want string }{
		{"text", `{"model": "m"}`, "model", "m"},
		{"dashes", `{"max-turns": 3}`, "max_turns", "3"},
		{"number as text", `{"max_turns": "3"}`, "max_turns", "3"},
		{"number for a text", `{"model": 4}`, "model", "4"},
		{"large number", `{"distribution_seed": 9007199254740993}`, "distribution_seed", "9007199254740993"},
		{"seconds", `{"prompt_timeout": 90}`, "prompt_timeout", "1m30s"},
		{"true", `{"resume": true}`, "resume", "true"},
		{"true as text", `{"resume": "true"}`, "resume", "true"},
		{"array", `{"providers_allowed": ["a", "b"]}`, "providers_allowed", "a,b"},
		{"list as text", `{"providers_allowed": "a, b"}`, "providers_allowed", "a,b"},
		{"null", `{"max_turns": null}`, "max_turns", "10"},
		{"byte order mark", "\ufeff" + `{"max_turns": 3}`, "max_turns", "3"},
		{"nothing", `{}`, "max_turns", "10"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, fs := newSample()
			if err := readInto(fs, tt.text); err != nil {
				t.Fatal(err)
			}
			if got := fs.Lookup(tt.flag).Value.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestConfigRefuses(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"unknown", `{"max_turnz": 3}`, `max_turnz in the config file: no such flag; did you mean max_turns?`},
		{"bad value", `{"max-turns": 0}`, `max_turns in the config file: "0" is not a whole number ≥ 1`},
		{"part of a number", `{"max_turns": 2.5}`, `max_turns in the config file: "2.5" is not a whole number ≥ 1`},
		{"empty text", `{"max_turns": ""}`, `max_turns in the config file: "" is not a whole number ≥ 1`},
		{"true for a number", `{"max_turns": true}`, `max_turns in the config file: true is not a whole number ≥ 1`},
		{"true for a text", `{"model": true}`, `model in the config file: true is not a text`},
		{"array for a number", `{"max_turns": [1, 2]}`, `max_turns in the config file: an array is not a whole number ≥ 1`},
		{"object", `{"max_turns": {"a": 1}}`, `max_turns in the config file: an object is not a whole number ≥ 1`},
		{"array of others", `{"providers_allowed": ["a", null]}`, `providers_allowed in the config file: the array may hold texts only`},
		{"bad word for a switch", `{"resume": "yes"}`, `resume in the config file: the value is not true or false`},
		{"twice", `{"max_turns": 3, "max-turns": 4}`, `max_turns in the config file: it is there twice`},
		{"a file of its own", `{"config": "b.json"}`, `config in the config file: a config file names no other`},
		{"secret", `{"api_key": ["sk-1"]}`, `api_key in the config file: an array is not a secret`},
		{"array", `[1]`, `--config: "my.json" must hold one JSON object`},
		{"nothing", `null`, `--config: "my.json" must hold one JSON object`},
		{"empty", ``, `--config: "my.json" is not valid JSON: unexpected end of JSON input`},
		{"more text", `{"max_turns": 3} x`, `--config: "my.json" is not valid JSON: invalid character 'x' after top-level value`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, fs := newSample()
			fs.String("config", "my.json", "")
			err := readInto(fs, tt.text)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// Whatever a file holds, it is read or refused in one short line.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{`{}`, `{"max-turns": 3}`, `{"providers_allowed": ["a"]}`, `{"resume": true, "x": [[]]}`, `[`, `{"a": {"b": null}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, fs := newSample()
		fs.String("config", "my.json", "")
		if err := readInto(fs, text); err != nil && (strings.Contains(err.Error(), "\n") || len(err.Error()) > 1000) {
			t.Errorf("%q: %q", text, err)
		}
	})
}
