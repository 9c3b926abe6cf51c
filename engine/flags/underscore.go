package flags

import (
	"flag"
	"strings"
)

// Underscore returns a copy of args in which the names of flags have
// underscores for dashes. It walks the words as the flag package will, so
// values are left as they are, also those that are a word of their own and
// begin with a dash, and nothing changes from the first word on that is no
// flag, or after "--". It needs fs to know which flags take a value.
func Underscore(fs *flag.FlagSet, args []string) []string {
	out := append([]string(nil), args...)
	for i := 0; i < len(out); i++ {
		dashes, name, value, ok := splitFlag(out[i])
		if !ok {
			break
		}
		name = strings.ReplaceAll(name, "-", "_")
		out[i] = dashes + name + value
		if value == "" && takesWord(fs.Lookup(name)) {
			i++
		}
	}
	return out
}

// splitFlag cuts a word into its leading dashes, the name and "=value". It
// reports false where the flag package would see no flag, and for numbers.
func splitFlag(word string) (dashes, name, value string, ok bool) {
	name = strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-")
	dashes = word[:len(word)-len(name)]
	if dashes == "" || name == "" || strings.ContainsRune("-=.0123456789", rune(name[0])) {
		return "", "", "", false
	}
	if i := strings.IndexByte(name, '='); i >= 0 {
		name, value = name[:i], name[i:]
	}
	return dashes, name, value, true
}

// takesWord reports whether f takes the next word as its value.
func takesWord(f *flag.Flag) bool { return f != nil && !isBool(f.Value) }

func isBool(v flag.Value) bool {
	b, ok := v.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}
