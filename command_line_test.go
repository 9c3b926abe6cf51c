package main

import (
	"errors"
	"flag"
	"io"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"hermes-batch/engine"
	"hermes-batch/engine/flags"
	"hermes-batch/export"
)

// runFlags are the flags of run, and the options behind them.
func runFlags() (*flag.FlagSet, *engine.Options) {
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	o := &engine.Options{}
	o.Register(fs)
	new(export.Filters).Register(fs)
	fs.String("config", "", "")
	return fs, o
}

// FuzzCommandLine sets the flags of run from words, a variable of the
// environment and a configuration file. They are taken, and then a resume takes
// the same values over, or refused in one short line that shows no key.
func FuzzCommandLine(f *testing.F) {
	const key = "sk-canary-0123456789"
	for _, words := range []string{
		"--dataset_file=p.jsonl\n--batch_size=10\n--run_name=first\n--max-turns\n3", "--input\na\n--output\nb",
		"--resume\n--run_name=r\n--retry_incomplete=max_turns,budget", "--request_timeout=1.5h\n--prompt-timeout=0\n--shutdown_grace=-1s",
		"--max_samples=all\n--reasoning_effort=", "--providers_order=a, b,,\n--provider_sort=price", "--batch_size=99999999999999999999",
		"-resume\ntrue", "--\nx", "--api_key", "--distribution_seed=-9223372036854775808", "--run_name=\x1b]0;x\x07", "--model=\u202eevil",
	} {
		f.Add(words, "MAX_TURNS", "5", `{"num_workers": 7}`)
	}
	f.Add("", "API_KEY", key+" "+key, "")
	f.Add("", "REQUEST_TIMEOUT", "\x1b[2J", `{"a": `+strings.Repeat("[", 20_000))
	f.Add("", "RETRY_INCOMPLETE", "x", `{"providers_allowed": ["a", 1.50], "providers_allowed": null}`)
	f.Add("", "CONFIG", "", `{"api_key": "`+key+` `+key+`", "max-samples": "all"}`)
	f.Fuzz(func(t *testing.T, words, variable, value, config string) {
		if strings.ContainsRune(variable+value, 0) || strings.ContainsAny(variable, "=") || variable == "" {
			return
		}
		t.Setenv(envPrefix+"_"+variable, value)
		args := strings.Split(words, "\n")
		if words == "" {
			args = nil
		}
		if config != "" {
			path := filepath.Join(t.TempDir(), "c.json")
			mustWriteFile(t, path, []byte(config))
			args = append([]string{"--config=" + path}, args...)
		}
		fs, o := runFlags()
		err := parse(fs, flags.Underscore(fs, args))
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		if err == nil {
			takenOver(t, fs)
			err = o.Validate()
		}
		if err == nil {
			return
		}
		text := err.Error()
		if !errors.Is(err, engine.ErrUsage) || strings.ContainsFunc(text, controls) || strings.Contains(text, "\n") || len(text) > 2000 {
			t.Errorf("%q, %s=%q, %q: %q", args, variable, value, config, text)
		}
		if !strings.Contains(words, key) && strings.Contains(text, key) {
			t.Errorf("the key is shown: %q", text)
		}
	})
}

// takenOver expects that a resume gets the values of flags that were parsed.
func takenOver(t *testing.T, fs *flag.FlagSet) {
	t.Helper()
	values := flags.Values(fs)
	next, _ := runFlags()
	if err := flags.Inherit(next, values); err != nil {
		t.Fatalf("a resume does not take %q: %v", values, err)
	}
	if got := flags.Values(next); !maps.Equal(got, values) {
		t.Errorf("a resume has %q, the run had %q", got, values)
	}
}
