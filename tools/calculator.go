package tools

import (
	"context"
	"encoding/json"
)

// calculator is the tool of that name.
type calculator struct{}

func (calculator) Spec() Spec {
	return Spec{
		Name: "calculator",
		Description: "Evaluates an arithmetic expression and returns the result. " +
			"Fractions and decimals are computed exactly; roots, logarithms and trigonometry to 15 digits. " +
			"Operators: + - * / % (remainder with the sign of the divisor) ** or ^ (power), parentheses. " +
			"Functions: sqrt, abs, min, max, round(x, digits), floor, ceil, ln, log(x) to base 10, log(x, base), exp, sin, cos, tan (radians). " +
			"Constants: pi, e. Write numbers without thousands separators.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"expression":{"type":"string","description":"What to compute, for example (17 * 23 + 0.5) / 3"}` +
			`},"required":["expression"],"additionalProperties":false}`),
		State:    StateNone,
		ReadOnly: true,
	}
}

func (calculator) Call(ctx context.Context, c *Call) (Result, error) {
	var args struct {
		Expression string `json:"expression"`
	}
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return Result{}, err
	}
	value, err := evaluate(ctx, args.Expression)
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	if err != nil {
		return failure(StatusError, err.Error()), nil
	}
	return success(struct {
		Result     string `json:"result"`
		Expression string `json:"expression"`
	}{value.String(), args.Expression}), nil
}
