package flags

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write the golden files")

var sampleGroups = []Group{
	{"Model", []string{"model", "max_turns", "api_key", "providers_allowed", "provider_sort", "ephemeral_system_prompt"}},
	{"Of another verb", []string{"not_here"}},
	{"Run", []string{"num_workers", "resume", "retry_incomplete", "prompt_timeout", "verbose", "rate"}},
}

func TestHelp(t *testing.T) {
	for _, width := range []string{"80", "100"} {
		t.Setenv("COLUMNS", width)
		_, fs := newSample()
		var b bytes.Buffer
		Help(&b, "usage: run --model=NAME\n\nOne line of introduction.\n", fs, sampleGroups)
		golden := filepath.Join("testdata", "help."+width+".txt")
		if *update {
			if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), want) {
			t.Errorf("width %s:\n%s\nwant:\n%s", width, b.Bytes(), want)
		}
	}
}

func TestHelpIsCompleteAndFits(t *testing.T) {
	for columns, limit := range map[string]int{"": 80, "20": 80, "97": 97, "500": 120, "wide": 80} {
		t.Setenv("COLUMNS", columns)
		_, fs := newSample()
		var b bytes.Buffer
		Help(&b, "", fs, sampleGroups)
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > limit {
				t.Errorf("COLUMNS=%s: %d characters: %s", columns, n, line)
			}
		}
		fs.VisitAll(func(f *flag.Flag) {
			if !strings.Contains(b.String(), "\n  --"+f.Name) {
				t.Errorf("COLUMNS=%s: --%s is missing", columns, f.Name)
			}
		})
		if strings.Contains(b.String(), "sk-preset-key") || strings.Contains(b.String(), "hidden") {
			t.Errorf("the secret's default is shown:\n%s", &b)
		}
	}
}

func TestUngrouped(t *testing.T) {
	_, fs := newSample()
	if got := Ungrouped(fs, sampleGroups); strings.Join(got, " ") != "distribution_seed" {
		t.Errorf("ungrouped: %q", got)
	}
	all := append(sampleGroups[:len(sampleGroups):len(sampleGroups)], Group{"Rest", []string{"distribution_seed"}})
	if got := Ungrouped(fs, all); len(got) > 0 {
		t.Errorf("ungrouped: %q", got)
	}
}
