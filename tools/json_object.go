package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// member is one key of a JSON object with the bytes of its value.
type member struct {
	key   string
	value json.RawMessage
}

var errNotObject = errors.New("not a JSON object")

// members returns the members of the one JSON object that data holds, in their order, repeated
// keys included.
func members(data []byte) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	if t != json.Delim('{') {
		return nil, errNotObject
	}
	var ms []member
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{key: key.(string)}
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		ms = append(ms, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the JSON object")
	}
	return ms, nil
}

// object is the reverse of members.
func object(ms []member) json.RawMessage {
	b := []byte{'{'}
	for i, m := range ms {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, encode(m.key)...), ':')
		b = append(b, m.value...)
	}
	return append(b, '}')
}

// encode writes v as JSON on one line, without the escapes that HTML would need. It panics on a
// value that JSON cannot hold, which is a mistake in this package.
func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
