package flags

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"unicode"
)

func TestExplainArguments(t *testing.T) {
	tests := []struct{ name, args, want string }{
		{"no number", "--max_turns=x", `--max_turns: "x" is not a whole number ≥ 1`},
		{"too small", "--max_turns 0", `--max_turns: "0" is not a whole number ≥ 1`},
		{"no word of the list", "--provider_sort=speed", `--provider_sort: "speed" is not one of price, throughput, latency`},
		{"text that looks like a message", `--max_turns=x" for flag -y: z`, `--max_turns: "x\" for flag -y: z" is not a whole number ≥ 1`},
		{"more than one line", "--max_turns=a\nb", `--max_turns: "a\nb" is not a whole number ≥ 1`},
		{"escape sequence", "--max_turns=\x1b[2J", `--max_turns: "\x1b[2J" is not a whole number ≥ 1`},
		{"standard int", "--distribution_seed=x", `--distribution_seed: "x" is not a whole number`},
		{"standard int, huge", "--distribution_seed=99999999999999999999", `--distribution_seed: "99999999999999999999" is out of range`},
		{"standard uint", "--num_workers=-1", `--num_workers: "-1" is not a whole number ≥ 0`},
		{"standard float", "--rate=x", `--rate: "x" is not a number`},
		{"boolean", "--resume=maybe", `--resume: "maybe" is not true or false`},
		{"value missing", "--max_turns", `--max_turns: a value is missing: a whole number ≥ 1`},
		{"text missing", "--model", `--model: a value is missing`},
		{"unknown, near", "--max_turn=1", `--max_turn: no such flag; did you mean --max_turns?`},
		{"unknown, swapped letters", "--modle=1", `--modle: no such flag; did you mean --model?`},
		{"unknown, no underscore", "--maxturns=1", `--maxturns: no such flag; did you mean --max_turns?`},
		{"unknown, other case", "--Resume", `--Resume: no such flag; did you mean --resume?`},
		{"unknown, far", "--frobnicate=1", `--frobnicate: no such flag`},
		{"unknown, short", "-x", `--x: no such flag`},
		{"unknown, with escapes", "--a\x1bb", `--a\x1bb: no such flag`},
		{"bad syntax", "---resume", `"---resume": no flag is written like this`},
		{"secret", "--api_key=sk-1\nsk-2", `--api_key: the value holds control characters, such as a line break`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, fs := newSample()
			args := []string{tt.args}
			if flag, value, ok := strings.Cut(tt.args, " "); ok && !strings.Contains(flag, "=") {
				args = []string{flag, value}
			}
			err := fs.Parse(args)
			if err == nil {
				t.Fatal("accepted")
			}
			got := Explain(fmt.Errorf("error parsing commandline arguments: %w", err), fs)
			if got.Error() != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if !errors.Is(got, err) {
				t.Error("the cause is lost")
			}
		})
	}
}

func TestExplainEnvironment(t *testing.T) {
	tests := []struct{ flag, value, want string }{
		{"max_turns", "x", `APP_MAX_TURNS: "x" is not a whole number ≥ 1`},
		{"resume", "maybe", `APP_RESUME: "maybe" is not true or false`},
		{"distribution_seed", "x", `APP_DISTRIBUTION_SEED: "x" is not a whole number`},
		{"api_key", "sk-1\nsk-2", `APP_API_KEY: the value holds control characters, such as a line break`},
	}
	for _, tt := range tests {
		_, fs := newSample()
		variable := "APP_" + strings.ToUpper(tt.flag)
		t.Setenv(variable, tt.value)
		err := fmt.Errorf("error parsing environment variables: %w",
			fmt.Errorf("error setting flag %q from environment variable %q: %w", tt.flag, variable, fs.Set(tt.flag, tt.value)))
		if got := Explain(err, fs); got.Error() != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestExplainConfigFile(t *testing.T) {
	_, set := newSample()
	set.String("config", "my.json", "")
	tests := []struct {
		err  error
		want string
	}{
		{fmt.Errorf("error setting flag %q from config file: %w", "max_turns", set.Set("max_turns", "x")), `max_turns in the config file: "x" is not a whole number ≥ 1`},
		{fmt.Errorf("error setting flag %q from config file: %w", "resume", set.Set("resume", "x")), `resume in the config file: the value is not true or false`},
		{errors.New(`config file flag "max_turn" not defined in flag set`), `max_turn in the config file: no such flag; did you mean max_turns?`},
		{errors.New(`error parsing JSON config: unexpected EOF`), `--config: "my.json" is not valid JSON: unexpected EOF`},
		{errNoObject, `--config: "my.json" must hold one JSON object`},
		{&fs.PathError{Op: "open", Path: "my.json", Err: fs.ErrNotExist}, `--config: "my.json": file does not exist`},
	}
	for _, tt := range tests {
		if got := Explain(tt.err, set); got.Error() != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// A value of another package may repeat its input; a secret one must not be
// shown even then.
type chatty struct{ secret bool }

func (chatty) String() string     { return "" }
func (chatty) Set(s string) error { return errors.New("cannot use " + s) }
func (c chatty) Secret() bool     { return c.secret }

func TestExplainHidesSecrets(t *testing.T) {
	for _, hidden := range []bool{true, false} {
		fs := flag.NewFlagSet("run", flag.ContinueOnError)
		fs.SetOutput(new(strings.Builder))
		fs.Var(chatty{hidden}, "token", "")
		got := Explain(fs.Parse([]string{"--token=canary-123"}), fs).Error()
		if strings.Contains(got, "canary-123") == hidden {
			t.Errorf("secret %v: %s", hidden, got)
		}
	}
}

func TestExplainLeavesOtherErrors(t *testing.T) {
	_, fs := newSample()
	other := errors.New("something else")
	for _, err := range []error{nil, other, flag.ErrHelp} {
		if got := Explain(err, fs); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
	if err := Explain(fmt.Errorf("parse: %w", fs.Parse([]string{"-h"})), fs); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("help became %v", err)
	}
}

func TestLeftover(t *testing.T) {
	tests := []struct{ args, want string }{
		{"--max-turns 3 --resume", ""},
		{"--resume true --max-turns=3", `"true" is left over: --resume takes its value after an equals sign: --resume=true`},
		{"-resume False", `"False" is left over: --resume takes its value after an equals sign: --resume=False`},
		{"--resume exprt", `"exprt" is left over: it belongs to no flag`},
		{"--resume=true false", `"false" is left over: it belongs to no flag`},
		{"--retry-incomplete max_turns", `"max_turns" is left over: --retry_incomplete takes its value after an equals sign: --retry_incomplete=max_turns`},
		{"--model m true", `"true" is left over: it belongs to no flag`},
		{"true", `"true" is left over: it belongs to no flag`},
		{"--resume -- true", `"true" is left over: it belongs to no flag`},
		{"--", ""},
	}
	for _, tt := range tests {
		_, fs := newSample()
		args := Underscore(fs, strings.Fields(tt.args))
		if err := fs.Parse(args); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := Leftover(fs, args); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.args, got, tt.want)
		}
	}
}

// Whatever is typed, the message is one line without control characters, and
// short enough for a terminal.
func FuzzExplain(f *testing.F) {
	for _, seed := range []string{
		"--max_turns=x", "--max_turn=1", "---x", "--resume=maybe", "--a\x1bb", "--api_key=sk\x00",
		"--rate=x\xff", "--providers_allowed", "--=", "--max_turns=x\" for flag -y: z", "--\u202e",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, fs := newSample()
		err := fs.Parse(strings.Split(text, "\n"))
		if err == nil || errors.Is(err, flag.ErrHelp) {
			return
		}
		got := Explain(err, fs).Error()
		if strings.ContainsFunc(got, unicode.IsControl) || len(got) > 1000 {
			t.Errorf("%q: %q", text, got)
		}
	})
}
