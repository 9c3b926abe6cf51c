package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"hermes-batch/db"
	"hermes-batch/tools"
)

// offer is what one session is given: toolsets that contribute, tool names,
// definitions as sent.
type offer struct {
	drawn       []string // what the distribution gave
	toolsets    []string
	names       []string
	definitions []byte
	hash        db.Hash
	tools       map[string]tools.Tool
}

func (o *offer) find(name string) (tools.Tool, bool) {
	t, ok := o.tools[name]
	return t, ok
}

func (o *offer) list() string {
	if len(o.names) == 0 {
		return "none"
	}
	return strings.Join(o.names, ", ")
}

// offers keeps each distinct offer once. Safe for concurrent use.
type offers struct {
	store *db.Store
	sets  []tools.Toolset

	mu    sync.Mutex
	known map[string]*offer
}

func newOffers(store *db.Store) *offers {
	return &offers{store: store, sets: tools.Toolsets(), known: map[string]*offer{}}
}

// draw is what a session that begins now is offered.
func (r *Run) draw(p db.Prompt, ord db.Ordinal) (*offer, error) {
	return r.offers.drawn(r.dist.Draw(r.settings.Seed, identity(p, ord)))
}

// drawn is the offer for toolsets as drawn. Its definitions are durable when it
// returns.
func (o *offers) drawn(toolsets []string) (*offer, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := "drawn " + strings.Join(toolsets, " ")
	if known := o.known[key]; known != nil {
		return known, nil
	}
	catalogue := tools.Catalogue(toolsets, o.sets)
	made := &offer{drawn: toolsets, toolsets: catalogue.Toolsets, names: catalogue.Names(), definitions: catalogue.Definitions(), tools: map[string]tools.Tool{}}
	for _, t := range catalogue.Tools {
		made.tools[t.Spec().Name] = t
	}
	if made.definitions != nil {
		var err error
		if made.hash, err = o.store.PutBlob(made.definitions); err != nil {
			return nil, err
		}
	}
	o.known[key] = made
	return made, nil
}

// stored is the offer that a session's steps record: the definitions that it
// was sent from the first request on, and the tools that carry them out now.
func (o *offers) stored(drawn, toolsets, names []string, definitions db.Hash) (*offer, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := fmt.Sprintf("stored %s %v %v %v", definitions, drawn, toolsets, names)
	if known := o.known[key]; known != nil {
		return known, nil
	}
	made := &offer{drawn: drawn, toolsets: toolsets, names: names, hash: definitions, tools: map[string]tools.Tool{}}
	for _, set := range o.sets {
		for _, t := range set.Tools {
			made.tools[t.Spec().Name] = t
		}
	}
	for name := range made.tools {
		if !slices.Contains(names, name) {
			delete(made.tools, name)
		}
	}
	if !definitions.IsZero() {
		var err error
		if made.definitions, err = o.store.Blob(definitions); err != nil {
			return nil, err
		}
	}
	o.known[key] = made
	return made, nil
}
