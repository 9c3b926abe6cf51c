package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// checkArguments holds the arguments of a call against the tool's schema. It returns them ready
// for the tool (values brought to the type that the schema names, null ones left out), or what is
// wrong with them, in words that let a model correct itself.
func checkArguments(spec Spec, args json.RawMessage) (json.RawMessage, string) {
	given, err := members(args)
	if err != nil {
		return nil, fmt.Sprintf("bad arguments for %s: not a JSON object: %v", spec.Name, err)
	}
	s := schemaOf(spec.Parameters)
	checked, problems := s.object(given, spec.Withheld)
	if len(problems) == 0 {
		return object(checked), ""
	}
	return nil, fmt.Sprintf("bad arguments for %s: %s. Expected: %s. Given: %s.",
		spec.Name, strings.Join(problems, "; "), s.expected(), keys(given))
}

// object checks the members of one object.
func (s schema) object(given []member, withheld map[string]string) (checked []member, problems []string) {
	seen := make(map[string]bool)
	for _, m := range lastOnes(given) {
		i := slices.IndexFunc(s.properties, func(p property) bool { return p.name == m.key })
		switch message, known := withheld[m.key]; {
		case known && asksForNothing(m.value):
		case known:
			problems = append(problems, fmt.Sprintf("%q is not available: %s", m.key, message))
		case i < 0 && s.closed:
			problems = append(problems, fmt.Sprintf("unknown %q", preview(m.key, 60)))
		case string(m.value) == "null":
		case i < 0:
			checked = append(checked, m)
		default:
			seen[m.key] = true
			value, problem := s.properties[i].value(m.value)
			if problem != "" {
				problems = append(problems, fmt.Sprintf("%q must be %s", m.key, problem))
			}
			checked = append(checked, member{m.key, value})
		}
	}
	for _, p := range s.properties {
		if p.required && !seen[p.name] {
			problems = append(problems, fmt.Sprintf("missing %q", p.name))
		}
	}
	return checked, problems
}

// lastOnes drops a member whose key comes again later, as JSON decoders do.
func lastOnes(ms []member) []member {
	last := make(map[string]int, len(ms))
	for i, m := range ms {
		last[m.key] = i
	}
	var kept []member
	for i, m := range ms {
		if last[m.key] == i {
			kept = append(kept, m)
		}
	}
	return kept
}

func asksForNothing(v json.RawMessage) bool {
	return slices.Contains([]string{"false", "null", `""`, "[]", "{}", "0"}, string(v))
}

// value checks one value. It returns it in the schema's type, or what it must be instead.
func (s schema) value(v json.RawMessage) (json.RawMessage, string) {
	converted, ok := s.convert(v)
	switch {
	case !ok || !s.inRange(converted) || !s.inEnum(converted):
		return nil, fmt.Sprintf("%s, not %s", s.describe(), preview(string(v), 60))
	case s.kind == "array" && s.items != nil:
		return s.list(converted)
	case s.kind == "object" && len(s.properties) > 0:
		return s.nested(converted)
	}
	return converted, ""
}

func (s schema) list(v json.RawMessage) (json.RawMessage, string) {
	var elements []json.RawMessage
	if err := json.Unmarshal(v, &elements); err != nil {
		return nil, fmt.Sprintf("an array: %v", err)
	}
	for i, e := range elements {
		value, problem := s.items.value(e)
		if problem != "" {
			return nil, fmt.Sprintf("an array whose element %d is %s", i+1, problem)
		}
		elements[i] = value
	}
	return json.RawMessage(encode(elements)), ""
}

func (s schema) nested(v json.RawMessage) (json.RawMessage, string) {
	ms, err := members(v)
	if err != nil {
		return nil, fmt.Sprintf("an object: %v", err)
	}
	checked, problems := s.object(ms, nil)
	if len(problems) > 0 {
		return nil, fmt.Sprintf("an object of %s (%s)", s.expected(), strings.Join(problems, "; "))
	}
	return object(checked), ""
}

// keys lists the keys of what was given.
func keys(ms []member) string {
	const most = 20
	if len(ms) == 0 {
		return "nothing"
	}
	var list []string
	for _, m := range ms[:min(len(ms), most)] {
		list = append(list, preview(m.key, 60))
	}
	if len(ms) > most {
		list = append(list, "…")
	}
	return strings.Join(list, ", ")
}
