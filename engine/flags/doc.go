// Package flags makes a standard flag.FlagSet friendly: dashes for
// underscores, grouped help, values that say what they accept, errors of one
// clear line, and the settings of an earlier session taken over.
//
// It wraps nothing. A verb registers its flags on a flag.FlagSet as always,
// some of them with the values of this package (Enum, Min, Duration,
// CommaList, Secret), and then goes through
//
//	args = Underscore(fs, args)   --max-turns becomes --max_turns
//	err = parse(fs, args)         the flag package, or a layer over it
//	err = Explain(err, fs)        "--max_turns: "x" is not a whole number ≥ 1"
//	err = Leftover(fs, args)      words that no flag took
//	err = Inherit(fs, earlier)    values of the run's last session
//
// Config parses the JSON file of such a layer. Explain also knows the messages
// of layers that set flags from environment variables and from a configuration
// file, and then names the variable or the key of the file.
//
// The flag set should use flag.ContinueOnError and an output of io.Discard:
// the flag package otherwise prints its own message and usage first.
//
// It imports the standard library only. Nothing here is safe for concurrent
// use, as a flag set is not.
package flags
