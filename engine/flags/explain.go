package flags

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What the flag package and the layer over it say. They keep no structure, so
// their texts are taken apart; a quoted text is what strconv.Quote makes.
const quotedText = `("(?:[^"\\]|\\.)*")`

var (
	badValue   = lazy(`(?s)^invalid (?:boolean )?value ` + quotedText + ` for (?:flag )?-(\S+): (.*)$`)
	badBool    = lazy(`(?s)^invalid boolean flag (\S+): (.*)$`)
	noValue    = lazy(`^flag needs an argument: -(\S+)$`)
	unknown    = lazy(`(?s)^flag provided but not defined: -(.*)$`)
	badSyntax  = lazy(`(?s)^bad flag syntax: (.*)$`)
	badEnv     = lazy(`(?s)^error setting flag ` + quotedText + ` from environment variable ` + quotedText + `: (.*)$`)
	badConfig  = lazy(`(?s)^error setting flag ` + quotedText + ` from config file: (.*)$`)
	unknownKey = lazy(`(?s)^config file flag ` + quotedText + ` not defined in flag set$`)
)

// Explain turns an error of parsing fs into one line that names the flag, the
// environment variable or the key of the configuration file, the value and
// what is allowed, with the nearest name for one that does not exist. Values
// of secrets are not shown. nil, flag.ErrHelp and errors of another kind come
// back as they are; the others wrap err.
func Explain(err error, set *flag.FlagSet) error {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return err
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if text := explain(e.Error(), set); text != "" {
			return &explained{text, err}
		}
	}
	if about := configError(err, set); about != "" {
		return &explained{about, err}
	}
	return err
}

// explained replaces the text of an error.
type explained struct {
	text string
	err  error
}

func (e *explained) Error() string { return e.text }
func (e *explained) Unwrap() error { return e.err }

func explain(text string, set *flag.FlagSet) string {
	if m := badValue().FindStringSubmatch(text); m != nil {
		return "--" + m[2] + ": " + reason(set.Lookup(m[2]), unquote(m[1]), m[3])
	}
	if m := badBool().FindStringSubmatch(text); m != nil {
		return "--" + m[1] + ": " + m[2]
	}
	if m := noValue().FindStringSubmatch(text); m != nil {
		return "--" + m[1] + ": " + needs(set.Lookup(m[1]))
	}
	if m := unknown().FindStringSubmatch(text); m != nil {
		return "--" + plain(m[1]) + ": no such flag" + suggestion(set, m[1], "--")
	}
	if m := badSyntax().FindStringSubmatch(text); m != nil {
		return quoted(m[1]) + ": no flag is written like this"
	}
	if m := badEnv().FindStringSubmatch(text); m != nil {
		variable := unquote(m[2])
		return variable + ": " + reason(set.Lookup(unquote(m[1])), os.Getenv(variable), m[3])
	}
	if m := badConfig().FindStringSubmatch(text); m != nil {
		name := unquote(m[1])
		return name + " in the config file: " + reason(set.Lookup(name), "", m[2])
	}
	if m := unknownKey().FindStringSubmatch(text); m != nil {
		name := unquote(m[1])
		return plain(name) + " in the config file: no such flag" + suggestion(set, name, "")
	}
	return ""
}

// reason says why f refused value, which is "" where it is not known. Values
// that are told apart by the flag package only by "parse error" get a text of
// this package.
func reason(f *flag.Flag, value, why string) string {
	if f == nil {
		return why
	}
	if isSecret(f.Value) {
		if value != "" {
			why = strings.ReplaceAll(why, value, "…")
		}
		return why
	}
	shown := quoted(value)
	if value == "" {
		shown = "the value"
	}
	switch wants := want(f.Value); {
	case why == "parse error" && wants != "":
		return shown + " is not " + wants
	case why == "value out of range":
		return shown + " is out of range"
	case value == "" || strings.Contains(why, quoted(value)):
		return why
	}
	return shown + ": " + why
}

func needs(f *flag.Flag) string {
	if f == nil || want(f.Value) == "" {
		return "a value is missing"
	}
	return "a value is missing: " + want(f.Value)
}

// configError names the flag that names a configuration file which cannot be
// opened or is no JSON, "" for every other error.
func configError(err error, set *flag.FlagSet) string {
	f := set.Lookup("config")
	if f == nil {
		return ""
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return fmt.Sprintf("--config: %s: %v", quoted(path.Path), path.Err)
	}
	if errors.Is(err, errNoObject) {
		return fmt.Sprintf("--config: %s must hold one JSON object", quoted(f.Value.String()))
	}
	if why, ok := strings.CutPrefix(err.Error(), notJSON); ok {
		return fmt.Sprintf("--config: %s is not valid JSON: %s", quoted(f.Value.String()), why)
	}
	return ""
}

func unquote(s string) string {
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return s
}

// Longest part of a user's word in a message, in characters.
const longestShown = 80

// clipped shortens a word for a message.
func clipped(s string) string {
	if utf8.RuneCountInString(s) <= longestShown {
		return s
	}
	return string([]rune(s)[:longestShown]) + "…"
}

// quoted makes a word safe and short enough for a message of one line.
func quoted(s string) string { return strconv.Quote(clipped(s)) }

// plain is quoted without the quotes.
func plain(s string) string { q := quoted(s); return q[1 : len(q)-1] }
