package flags

import (
	"flag"
	"fmt"
	"strconv"
)

// Leftover returns an error that names the first word that no flag of the
// parsed fs took, or nil if there is none. args are the words that fs parsed.
//
// The flag package stops at such a word and ignores every flag after it. The
// usual cause is a boolean flag with its value as a word of its own, and then
// the error says how to write it.
func Leftover(fs *flag.FlagSet, args []string) error {
	if fs.NArg() == 0 {
		return nil
	}
	word := fs.Arg(0)
	if name := boolBefore(fs, args, word); name != "" {
		return fmt.Errorf("%s is left over: --%s takes its value after an equals sign: --%s=%s",
			quoted(word), name, name, clipped(word))
	}
	return fmt.Errorf("%s is left over: it belongs to no flag", quoted(word))
}

// boolBefore names the flag with an optional value that stands right before
// the first leftover word and could have meant it.
func boolBefore(fs *flag.FlagSet, args []string, word string) string {
	at := len(args) - fs.NArg() - 1
	if at < 0 || at >= len(args) {
		return ""
	}
	_, name, value, ok := splitFlag(args[at])
	f := fs.Lookup(name)
	if !ok || value != "" || f == nil || !isBool(f.Value) {
		return ""
	}
	if _, err := strconv.ParseBool(word); err != nil && plainBool(f.Value) {
		return ""
	}
	return name
}

// plainBool reports whether v takes true and false and nothing else.
func plainBool(v flag.Value) bool {
	g, ok := v.(flag.Getter)
	if !ok {
		return false
	}
	_, ok = g.Get().(bool)
	return ok
}
