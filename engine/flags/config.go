package flags

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// notJSON begins the error of a configuration file that cannot be read.
const notJSON = "error parsing JSON config: "

// errNoObject is returned for a configuration file that holds another value
// than an object.
var errNoObject = errors.New("no JSON object")

// Config returns a parser of configuration files for the layer above the flag
// package, which hands it set. A file is one JSON object; its keys are names of
// flags of fs, with dashes or underscores. A text or a number goes to any flag,
// true and false to one that is on or off, an array to one that takes a list
// (its value has the method IsListFlag), and null leaves the flag alone. Keys
// that stand there twice, other values and text after the object are refused.
func Config(fs *flag.FlagSet) func(r io.Reader, set func(name, value string) error) error {
	return func(r io.Reader, set func(name, value string) error) error {
		members, err := readConfig(r)
		if err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, m := range members {
			f := fs.Lookup(m.name)
			switch {
			case f == nil:
				return fmt.Errorf("config file flag %q not defined in flag set", m.name)
			case seen[m.name]:
				return fmt.Errorf("%s in the config file: it is there twice", m.name)
			case m.name == "config":
				return errors.New("config in the config file: a config file names no other")
			}
			seen[m.name] = true
			value, given, err := configValue(f, m.value)
			if err != nil {
				return fmt.Errorf("%s in the config file: %w", m.name, err)
			}
			if !given {
				continue
			}
			if err := set(m.name, value); err != nil {
				return err
			}
		}
		return nil
	}
}

// member is one key of the file, as the flag is called, and its value.
type member struct {
	name  string
	value any
}

// maxConfig bounds a config file, in bytes.
const maxConfig = 4 << 20

// readConfig returns the members of the file in its order.
func readConfig(r io.Reader) ([]member, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxConfig+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxConfig:
		return nil, fmt.Errorf("larger than %d MiB", maxConfig>>20)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	var whole any
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, fmt.Errorf(notJSON+"%w", err)
	}
	if _, ok := whole.(map[string]any); !ok {
		return nil, errNoObject
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	var members []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: strings.ReplaceAll(name.(string), "-", "_")}
		if err := dec.Decode(&m.value); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	return members, nil
}

// configValue is a value of the file as text that f takes; given is false for
// null.
func configValue(f *flag.Flag, value any) (text string, given bool, err error) {
	switch v := value.(type) {
	case nil:
		return "", false, nil
	case string:
		return v, true, nil
	case json.Number:
		return v.String(), true, nil
	case bool:
		if isBool(f.Value) {
			return strconv.FormatBool(v), true, nil
		}
		return "", false, misfit(strconv.FormatBool(v), f)
	case []any:
		if isList(f.Value) {
			text, err = joined(v)
			return text, true, err
		}
		return "", false, misfit("an array", f)
	}
	return "", false, misfit("an object", f)
}

// misfit says that a kind of value is not for f.
func misfit(kind string, f *flag.Flag) error {
	wants := want(f.Value)
	if wants == "" {
		wants = "a text"
	}
	return fmt.Errorf("%s is not %s", kind, wants)
}

func joined(list []any) (string, error) {
	var words []string
	for _, element := range list {
		switch v := element.(type) {
		case string:
			words = append(words, v)
		case json.Number:
			words = append(words, v.String())
		default:
			return "", errors.New("the array may hold texts only")
		}
	}
	return strings.Join(words, ","), nil
}

// isList reports whether v takes words separated by commas.
func isList(v flag.Value) bool {
	l, ok := v.(interface{ IsListFlag() bool })
	return ok && l.IsListFlag()
}
