package flags

import (
	"flag"
	"fmt"
	"maps"
	"slices"
)

// Given returns the flags that were set, from wherever, and their values as
// text that Set takes again. Secrets are left out.
func Given(fs *flag.FlagSet) map[string]string {
	given := map[string]string{}
	fs.Visit(func(f *flag.Flag) { add(given, f) })
	return given
}

// Values returns what Given does for every flag, set or not: the settings in
// force. Secrets are left out.
func Values(fs *flag.FlagSet) map[string]string {
	values := map[string]string{}
	fs.VisitAll(func(f *flag.Flag) { add(values, f) })
	return values
}

func add(to map[string]string, f *flag.Flag) {
	if !isSecret(f.Value) {
		to[f.Name] = f.Value.String()
	}
}

// Inherit gives the flags of fs that nobody set the values that from names,
// as made by Values or Given in an earlier session. Secrets, the flags in
// except, and names that fs does not have (another version's) are left alone.
// Flags that it changed count as set afterwards, so that Given then is what the
// next session has to inherit.
func Inherit(fs *flag.FlagSet, from map[string]string, except ...string) error {
	set := Given(fs)
	for _, name := range slices.Sorted(maps.Keys(from)) {
		f := fs.Lookup(name)
		if _, ok := set[name]; ok || f == nil || isSecret(f.Value) || slices.Contains(except, name) {
			continue
		}
		if from[name] == f.Value.String() {
			continue
		}
		if err := fs.Set(name, from[name]); err != nil {
			return fmt.Errorf("--%s: value of the earlier session: %w", name, err)
		}
	}
	return nil
}
