package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// shape parses one line strictly: one JSON value in valid UTF-8 without
// duplicate keys. It returns the paths of all keys with the types of their
// values, in order; what is inside a conversation or list counts once.
func shape(t testing.TB, line string) []string {
	t.Helper()
	if !utf8.ValidString(line) || !json.Valid([]byte(line)) {
		t.Fatalf("not valid: %q", line)
	}
	dec := json.NewDecoder(strings.NewReader(line))
	dec.UseNumber()
	var paths []string
	if err := walkValue(dec, "", func(path string) {
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}); err != nil {
		t.Fatalf("%v in %q", err, line)
	}
	if _, err := dec.Token(); err != io.EOF {
		t.Fatalf("more than one value in %q", line)
	}
	return paths
}

func walkValue(dec *json.Decoder, path string, found func(string)) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	switch tok := tok.(type) {
	case json.Delim:
		if tok == '{' {
			return walkObject(dec, path, found)
		}
		found(path + " array")
		for dec.More() {
			if err := walkValue(dec, path+"[]", found); err != nil {
				return err
			}
		}
		_, err = dec.Token()
		return err
	case json.Number:
		if bytes.ContainsAny([]byte(tok), "eE") {
			return fmt.Errorf("exponent in %s", tok)
		}
		found(fmt.Sprintf("%s number, fraction %t", path, strings.Contains(tok.String(), ".")))
	case nil:
		return fmt.Errorf("null at %s", path)
	default:
		found(fmt.Sprintf("%s %T", path, tok))
	}
	return nil
}

func walkObject(dec *json.Decoder, path string, found func(string)) error {
	found(path + " object")
	seen := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		name := key.(string)
		if seen[name] {
			return fmt.Errorf("key %s.%s twice", path, name)
		}
		seen[name] = true
		if err := walkValue(dec, path+"."+name, found); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

// checkShapes wants every line of a file to have the same keys and types, apart
// from those inside the parts that vary.
func checkShapes(t testing.TB, name, file string, vary ...string) {
	t.Helper()
	var first []string
	for line := range strings.Lines(file) {
		if !strings.HasSuffix(line, "\n") {
			t.Fatalf("%s: last line is cut", name)
		}
		paths := slices.DeleteFunc(shape(t, line), func(path string) bool {
			return slices.ContainsFunc(vary, func(v string) bool { return strings.HasPrefix(path, v) })
		})
		if first == nil {
			first = paths
		}
		if !slices.Equal(paths, first) {
			t.Fatalf("%s: keys and types\n%q, want\n%q", name, paths, first)
		}
	}
}
