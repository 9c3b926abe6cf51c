package flags

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
)

// A Verb is a word of the command line with flags of its own.
type Verb struct {
	Name, About string
	Intro       string // of its help
	Groups      []Group
	// Register puts the verb's flags on a set; what it returns does the work
	// once they are parsed.
	Register func(*flag.FlagSet) func(context.Context) error
}

// Verbs are those of a program.
type Verbs []Verb

// Find returns the verb of that name. The error names the nearest one, or all.
func (vs Verbs) Find(name string) (Verb, error) {
	names := make([]string, len(vs), len(vs)+1)
	for i, v := range vs {
		if v.Name == name {
			return v, nil
		}
		names[i] = v.Name
	}
	names = append(names, "help")
	if near := Nearest(name, names); near != "" {
		return Verb{}, fmt.Errorf("there is no verb %q; did you mean %s?", name, near)
	}
	return Verb{}, fmt.Errorf("there is no verb %q; verbs: %s", name, strings.Join(names, ", "))
}

// List writes a line for each verb.
func (vs Verbs) List(w io.Writer) {
	for _, v := range vs {
		fmt.Fprintf(w, "  %-10s %s\n", v.Name, v.About)
	}
}

// Flags are the names of all flags of all verbs.
func (vs Verbs) Flags() []string {
	var names []string
	for _, v := range vs {
		fs := flag.NewFlagSet(v.Name, flag.ContinueOnError)
		v.Register(fs)
		fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	}
	return names
}
