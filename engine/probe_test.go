package engine

import (
	"context"
	"encoding/json"

	"hermes-batch/tools"
)

// probe is a tool that a test makes.
type probe struct {
	name     string
	state    tools.State
	readOnly bool
	call     func(ctx context.Context, c *tools.Call) (tools.Result, error)
}

func (p probe) Spec() tools.Spec {
	return tools.Spec{Name: p.name, Description: "A tool of a test.", Parameters: json.RawMessage(`{"type":"object"}`),
		State: p.state, ReadOnly: p.readOnly}
}

func (p probe) Call(ctx context.Context, c *tools.Call) (tools.Result, error) { return p.call(ctx, c) }

// offer gives the sessions of the bench's runs further tools.
func (b *bench) offer(more ...tools.Tool) {
	b.hook = func(r *Run) {
		for i, set := range r.offers.sets {
			if set.Name == "calculator" {
				r.offers.sets[i].Tools = append(set.Tools[:len(set.Tools):len(set.Tools)], more...)
			}
		}
	}
}

func fine(text string) (tools.Result, error) {
	return tools.Result{Text: text, Success: true, Status: tools.StatusOK}, nil
}
