package flags

import (
	"maps"
	"strings"
	"testing"
	"time"
)

func TestGivenAndValues(t *testing.T) {
	_, fs := newSample()
	args := []string{"--max_turns=3", "--api_key=sk-secret", "--providers_allowed=a,b", "--resume", "--prompt_timeout=3600", "--provider_sort="}
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"max_turns": "3", "providers_allowed": "a,b", "resume": "true", "prompt_timeout": "1h", "provider_sort": ""}
	if got := Given(fs); !maps.Equal(got, want) {
		t.Errorf("given: %v\nwant:  %v", got, want)
	}
	values := Values(fs)
	if _, ok := values["api_key"]; ok {
		t.Error("the secret is among the values")
	}
	if values["model"] != "anthropic/claude-sonnet-4.6" || values["max_turns"] != "3" {
		t.Errorf("values: %v", values)
	}
}

func TestInherit(t *testing.T) {
	first, fs := newSample()
	if err := fs.Parse([]string{"--max_turns=3", "--model=m", "--resume", "--providers_allowed=a,b", "--prompt_timeout=90", "--api_key=sk-1"}); err != nil {
		t.Fatal(err)
	}
	earlier := Values(fs)
	earlier["flag_of_another_version"] = "x"
	earlier["api_key"] = "sk-stored-by-mistake"

	second, fs := newSample()
	if err := fs.Parse([]string{"--model=n"}); err != nil {
		t.Fatal(err)
	}
	if err := Inherit(fs, earlier, "resume", "verbose"); err != nil {
		t.Fatal(err)
	}
	if second.model != "n" {
		t.Errorf("a flag that was given became %q", second.model)
	}
	if second.turns != 3 || second.limit != 90*time.Second || strings.Join(second.allowed, ",") != "a,b" {
		t.Errorf("not inherited: %+v", second)
	}
	if second.resume {
		t.Error("an excepted flag was inherited")
	}
	if second.key != "sk-preset-key" || first.key != "sk-1" {
		t.Errorf("the secret became %q", second.key)
	}
	if _, ok := Given(fs)["max_turns"]; !ok {
		t.Error("an inherited flag does not count as set")
	}
}

func TestInheritNamesTheFlagOfABadValue(t *testing.T) {
	_, fs := newSample()
	err := Inherit(fs, map[string]string{"max_turns": "none"})
	if err == nil || err.Error() != `--max_turns: value of the earlier session: "none" is not a whole number ≥ 1` {
		t.Errorf("error: %v", err)
	}
}
