package tools

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Offer is what one session may call.
type Offer struct {
	Toolsets []string // the drawn toolsets that contribute a tool, in the order drawn
	Tools    []Tool   // sorted by name, each once
}

// Catalogue turns drawn toolset names into an Offer. A name that is not among sets, or a set
// that offers nothing here, contributes nothing.
func Catalogue(drawn []string, sets []Toolset) Offer {
	var o Offer
	for _, name := range drawn {
		i := slices.IndexFunc(sets, func(s Toolset) bool { return s.Name == name })
		if i < 0 || len(sets[i].Tools) == 0 || slices.Contains(o.Toolsets, name) {
			continue
		}
		o.Toolsets = append(o.Toolsets, name)
		o.Tools = append(o.Tools, sets[i].Tools...)
	}
	slices.SortStableFunc(o.Tools, func(a, b Tool) int { return strings.Compare(a.Spec().Name, b.Spec().Name) })
	o.Tools = slices.CompactFunc(o.Tools, func(a, b Tool) bool { return a.Spec().Name == b.Spec().Name })
	return o
}

// Names returns the names of the offered tools, sorted.
func (o Offer) Names() []string {
	names := make([]string, len(o.Tools))
	for i, t := range o.Tools {
		names[i] = t.Spec().Name
	}
	return names
}

// Definitions returns the tools as a chat request carries them: a JSON array whose bytes depend
// on nothing but the specs. It is nil when nothing is offered.
func (o Offer) Definitions() json.RawMessage {
	if len(o.Tools) == 0 {
		return nil
	}
	var b bytes.Buffer
	for i, t := range o.Tools {
		b.WriteByte("[,"[min(i, 1)])
		b.WriteString(definition(t.Spec()))
	}
	b.WriteByte(']')
	return b.Bytes()
}

func definition(s Spec) string {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	return encode(struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", function{s.Name, s.Description, s.Parameters}})
}
