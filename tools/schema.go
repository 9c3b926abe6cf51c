package tools

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// schema is the part of JSON Schema that tools are described in. What it does not know is not
// checked.
type schema struct {
	kind       string // "" for any
	enum       []any
	minimum    *float64
	maximum    *float64
	items      *schema
	properties []property // in the order of the schema
	closed     bool       // no other properties
}

type property struct {
	name     string
	required bool
	schema
}

// schemas keeps what was parsed. There are as many as there are tools.
var schemas struct {
	sync.RWMutex
	parsed map[string]schema
}

// schemaOf is parseSchema, once for each text. What it returns must not be changed.
func schemaOf(raw json.RawMessage) schema {
	schemas.RLock()
	s, known := schemas.parsed[string(raw)]
	schemas.RUnlock()
	if known {
		return s
	}
	s = parseSchema(raw)
	schemas.Lock()
	defer schemas.Unlock()
	if schemas.parsed == nil {
		schemas.parsed = map[string]schema{}
	}
	schemas.parsed[string(raw)] = s
	return s
}

// parseSchema is lenient, since schemas may come from outside of this program: a part that does
// not have the expected form is left out.
func parseSchema(raw json.RawMessage) schema {
	var s schema
	var required []string
	ms, _ := members(raw)
	for _, m := range ms {
		switch m.key {
		case "type":
			_ = json.Unmarshal(m.value, &s.kind)
		case "enum":
			_ = json.Unmarshal(m.value, &s.enum)
		case "minimum":
			_ = json.Unmarshal(m.value, &s.minimum)
		case "maximum":
			_ = json.Unmarshal(m.value, &s.maximum)
		case "required":
			_ = json.Unmarshal(m.value, &required)
		case "additionalProperties":
			s.closed = string(m.value) == "false"
		case "items":
			items := parseSchema(m.value)
			s.items = &items
		case "properties":
			ps, _ := members(m.value)
			for _, p := range ps {
				s.properties = append(s.properties, property{name: p.key, schema: parseSchema(p.value)})
			}
		}
	}
	for i, p := range s.properties {
		s.properties[i].required = slices.Contains(required, p.name)
	}
	return s
}

// convert brings a value to the schema's type where that loses nothing: a number written as a
// string, a scalar where a string or a list is expected. A string where a string is expected
// stays what it is, whatever it looks like.
func (s schema) convert(v json.RawMessage) (json.RawMessage, bool) {
	text, isString := string(v), v[0] == '"'
	if isString {
		_ = json.Unmarshal(v, &text)
	}
	switch s.kind {
	case "string":
		scalar := strings.IndexByte("{[n", v[0]) < 0
		return json.RawMessage(encode(text)), scalar
	case "integer":
		return wholeNumber(text)
	case "number":
		return json.RawMessage(text), isNumber(text)
	case "boolean":
		return json.RawMessage(text), text == "true" || text == "false"
	case "object":
		return json.RawMessage(text), strings.HasPrefix(text, "{") && json.Valid([]byte(text))
	case "array":
		if strings.HasPrefix(text, "[") && json.Valid([]byte(text)) {
			return json.RawMessage(text), true
		}
		return slices.Concat([]byte("["), v, []byte("]")), v[0] != '{'
	}
	return v, true
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil && json.Valid([]byte(text))
}

// wholeNumber accepts 5, 5.0 and 5e0, and writes them as 5.
func wholeNumber(text string) (json.RawMessage, bool) {
	if !isNumber(text) {
		return nil, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		const exact = 1 << 53
		f, _ := strconv.ParseFloat(text, 64)
		if f != math.Trunc(f) || math.Abs(f) > exact {
			return nil, false
		}
		n = int64(f)
	}
	return strconv.AppendInt(nil, n, 10), true
}

func (s schema) inRange(v json.RawMessage) bool {
	if s.kind != "integer" && s.kind != "number" {
		return true
	}
	n, err := strconv.ParseFloat(string(v), 64)
	return err == nil && (s.minimum == nil || n >= *s.minimum) && (s.maximum == nil || n <= *s.maximum)
}

func (s schema) inEnum(v json.RawMessage) bool {
	var value any
	if len(s.enum) == 0 || json.Unmarshal(v, &value) != nil {
		return len(s.enum) == 0
	}
	return slices.ContainsFunc(s.enum, func(e any) bool { return encode(e) == encode(value) })
}

// describe says what a value must be.
func (s schema) describe() string {
	what := "a value"
	switch s.kind {
	case "":
	case "integer", "array", "object":
		what = "an " + s.kind
	default:
		what = "a " + s.kind
	}
	if len(s.enum) > 0 {
		what = "one of " + strings.Trim(encode(s.enum), "[]")
	}
	var bounds []string
	if s.minimum != nil {
		bounds = append(bounds, fmt.Sprintf("at least %v", *s.minimum))
	}
	if s.maximum != nil {
		bounds = append(bounds, fmt.Sprintf("at most %v", *s.maximum))
	}
	if len(bounds) > 0 {
		what += " of " + strings.Join(bounds, " and ")
	}
	return what
}

// expected lists the arguments of an object's schema.
func (s schema) expected() string {
	if len(s.properties) == 0 {
		return "no arguments"
	}
	list := make([]string, len(s.properties))
	for i, p := range s.properties {
		list[i] = p.name
		if p.required {
			list[i] += " (required)"
		}
	}
	return strings.Join(list, ", ")
}
