package flags

import (
	"flag"
	"slices"
	"strings"
	"testing"
)

func TestUnderscore(t *testing.T) {
	tests := []struct{ name, args, want string }{
		{"two dashes", "--max-turns=3", "--max_turns=3"},
		{"one dash", "-max-turns=3", "-max_turns=3"},
		{"a word as value", "--max-turns 3 --provider-sort price", "--max_turns 3 --provider_sort price"},
		{"underscores already", "--max_turns=3", "--max_turns=3"},
		{"mixed", "--ephemeral-system_prompt=a-b --resume", "--ephemeral_system_prompt=a-b --resume"},
		{"value with dashes", "--model=a-b/c-d=e-f", "--model=a-b/c-d=e-f"},
		{"value that looks like a flag", "--ephemeral-system-prompt --be-brief --max-turns 2", "--ephemeral_system_prompt --be-brief --max_turns 2"},
		{"negative number as value", "--distribution-seed -5 --max-turns=2", "--distribution_seed -5 --max_turns=2"},
		{"negative number alone", "-5 --max-turns=2", "-5 --max-turns=2"},
		{"boolean takes no word", "--resume --max-turns=2", "--resume --max_turns=2"},
		{"after the end", "--resume -- --max-turns=2", "--resume -- --max-turns=2"},
		{"after a word", "some-word --max-turns=2", "some-word --max-turns=2"},
		{"after a dash", "- --max-turns=2", "- --max-turns=2"},
		{"unknown flag", "--max-tokns=1", "--max_tokns=1"},
		{"three dashes", "---max-turns=2", "---max-turns=2"},
		{"no name", "--=a-b", "--=a-b"},
		{"nothing", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, fs := newSample()
			args := strings.Fields(tt.args)
			before := append([]string(nil), args...)
			got := strings.Join(Underscore(fs, args), " ")
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if !slices.Equal(args, before) {
				t.Errorf("the caller's words changed: %q", args)
			}
		})
	}
}

// A command line means the same whether its flags are written with dashes or
// with underscores, and its values arrive as they were written.
func FuzzUnderscore(f *testing.F) {
	for _, seed := range []string{
		"--max-turns\n3", "--model=a-b", "--ephemeral-system-prompt\n--be-brief\n--resume",
		"--distribution-seed\n-5", "--resume\ntrue\n--max-turns=2", "--\n--max-turns=2",
		"-", "---x", "--=", "-5", "--provider-sort=\n--rate\n-1e-3", "--retry-incomplete=max_turns",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Split(text, "\n")
		_, fs := newSample()
		once := Underscore(fs, args)
		if len(once) != len(args) {
			t.Fatalf("%d words became %d", len(args), len(once))
		}
		if twice := Underscore(fs, once); !slices.Equal(once, twice) {
			t.Fatalf("not stable: %q, then %q", once, twice)
		}
		for i := range args {
			if strings.ReplaceAll(once[i], "_", "-") != strings.ReplaceAll(args[i], "_", "-") {
				t.Fatalf("word %q became %q", args[i], once[i])
			}
		}

		dashed := dashedSample()
		errDashed := dashed.Parse(args)
		errPlain := fs.Parse(once)
		if errDashed == nil && errPlain != nil {
			t.Fatalf("%q is refused as %q: %v", args, once, errPlain)
		}
		if errDashed != nil {
			return
		}
		if got, want := Values(fs), Values(dashed); len(got) != len(want) {
			t.Fatalf("flags: %v, want %v", got, want)
		} else {
			for name, value := range want {
				if plain := strings.ReplaceAll(name, "-", "_"); got[plain] != value {
					t.Errorf("%s is %q, want %q", plain, got[plain], value)
				}
			}
		}
		if !slices.Equal(fs.Args(), dashed.Args()) {
			t.Errorf("left over: %q, want %q", fs.Args(), dashed.Args())
		}
	})
}

// dashedSample has the flags of newSample under names with dashes.
func dashedSample() *flag.FlagSet {
	_, fs := newSample()
	dashed := flag.NewFlagSet("run", flag.ContinueOnError)
	dashed.SetOutput(fs.Output())
	fs.VisitAll(func(f *flag.Flag) {
		dashed.Var(f.Value, strings.ReplaceAll(f.Name, "_", "-"), f.Usage)
	})
	return dashed
}
