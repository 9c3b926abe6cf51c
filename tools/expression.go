package tools

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of an expression. With those of number.go they keep the worst one far below a second.
const (
	maxExpression = 4_000 // bytes
	maxNesting    = 100   // parentheses, signs and powers within each other
	maxExponent   = 4_000 // of a literal such as 1e10
)

// expression evaluates text while it reads it, by recursive descent:
//
//	sum     = product { ("+" | "-") product }
//	product = signed { ("*" | "/" | "%") signed }
//	signed  = ("-" | "+") signed | power
//	power   = primary [ "**" signed ]
//	primary = number | constant | function "(" sum { "," sum } ")" | "(" sum ")"
type expression struct {
	ctx   context.Context
	text  string
	pos   int
	depth int
}

// spellings are other ways to write the operators.
var spellings = strings.NewReplacer("×", "*", "÷", "/", "−", "-", "^", "**", "π", "pi")

// evaluate computes an expression. An error says what is wrong with it.
func evaluate(ctx context.Context, text string) (number, error) {
	if len(text) > maxExpression {
		return number{}, fmt.Errorf("the expression is longer than %d bytes", maxExpression)
	}
	x := &expression{ctx: ctx, text: spellings.Replace(text)}
	n, err := x.sum()
	if err == nil && x.peek() != "" {
		err = x.unexpected()
	}
	return n, err
}

var (
	sums     = map[string]operation{"+": add, "-": subtract}
	products = map[string]operation{"*": multiply, "/": divide, "%": remainder}
)

func (x *expression) sum() (number, error) { return x.chain((*expression).product, sums) }

func (x *expression) product() (number, error) { return x.chain((*expression).signed, products) }

// chain reads operands with operators of one rank between them, from left to right.
func (x *expression) chain(operand func(*expression) (number, error), operators map[string]operation) (number, error) {
	left, err := operand(x)
	for err == nil {
		apply, ok := operators[x.peek()]
		if !ok {
			return left, nil
		}
		x.take()
		var right number
		if right, err = operand(x); err == nil {
			left, err = x.apply(apply, left, right)
		}
	}
	return number{}, err
}

func (x *expression) apply(op operation, a, b number) (number, error) {
	if err := x.ctx.Err(); err != nil {
		return number{}, err
	}
	n, err := op(a, b)
	if err != nil {
		return number{}, err
	}
	return n.checked()
}

func (x *expression) signed() (number, error) {
	if x.depth++; x.depth > maxNesting {
		return number{}, fmt.Errorf("the expression is nested more than %d deep", maxNesting)
	}
	defer func() { x.depth-- }()
	switch x.peek() {
	case "+":
		x.take()
		return x.signed()
	case "-":
		x.take()
		n, err := x.signed()
		if err != nil {
			return number{}, err
		}
		return x.apply(subtract, exact(0), n)
	}
	return x.power()
}

func (x *expression) power() (number, error) {
	base, err := x.primary()
	if err != nil || x.peek() != "**" {
		return base, err
	}
	x.take()
	exponent, err := x.signed()
	if err != nil {
		return number{}, err
	}
	return x.apply(power, base, exponent)
}

func (x *expression) primary() (number, error) {
	switch token := x.peek(); {
	case token == "(":
		x.take()
		n, err := x.sum()
		if err != nil {
			return number{}, err
		}
		return n, x.expect(")")
	case startsNumber(token):
		x.take()
		return literal(token)
	case startsName(token):
		x.take()
		return x.named(strings.ToLower(token))
	}
	return number{}, x.unexpected()
}

// named reads a constant or a function call.
func (x *expression) named(name string) (number, error) {
	if c, ok := constants[name]; ok {
		return number{approx: c}, nil
	}
	f, ok := functions[name]
	if !ok {
		return number{}, fmt.Errorf("unknown name %q; known are %s", preview(name, 40), knownNames())
	}
	if err := x.expect("("); err != nil {
		return number{}, fmt.Errorf("%s is a function: %w", name, err)
	}
	var args []number
	for {
		n, err := x.sum()
		if err != nil {
			return number{}, err
		}
		args = append(args, n)
		if x.peek() != "," {
			break
		}
		x.take()
	}
	if err := x.expect(")"); err != nil {
		return number{}, err
	}
	if len(args) < f.least || len(args) > f.most {
		return number{}, fmt.Errorf("%s does not take %d arguments", name, len(args))
	}
	n, err := f.call(args)
	if err != nil {
		return number{}, fmt.Errorf("%s: %w", name, err)
	}
	return n.checked()
}

// literal turns 12, 0.5, .5 or 1e3 into an exact number.
func literal(token string) (number, error) {
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(token), "e")
	if scientific {
		if e, err := strconv.Atoi(exponent); err != nil || e < -maxExponent || e > maxExponent {
			return number{}, fmt.Errorf("the exponent of %s is not within ±%d", preview(token, 40), maxExponent)
		}
	}
	if strings.Count(mantissa, ".") > 1 || mantissa == "." {
		return number{}, fmt.Errorf("%s is not a number", preview(token, 40))
	}
	r, ok := new(big.Rat).SetString(token)
	if !ok {
		return number{}, fmt.Errorf("%s is not a number", preview(token, 40))
	}
	return number{rat: r}.checked()
}

// peek returns the next token, "" at the end.
func (x *expression) peek() string {
	for x.pos < len(x.text) && strings.IndexByte(" \t\r\n", x.text[x.pos]) >= 0 {
		x.pos++
	}
	rest := x.text[x.pos:]
	switch {
	case rest == "":
		return ""
	case startsNumber(rest):
		return rest[:numberLength(rest)]
	case startsName(rest):
		end := strings.IndexFunc(rest, func(r rune) bool { return !startsName(string(r)) && (r < '0' || r > '9') })
		if end < 0 {
			end = len(rest)
		}
		return rest[:end]
	case strings.HasPrefix(rest, "**"):
		return "**"
	}
	_, size := utf8.DecodeRuneInString(rest)
	return rest[:size]
}

func (x *expression) take() { x.pos += len(x.peek()) }

func (x *expression) expect(token string) error {
	if x.peek() != token {
		return fmt.Errorf("expected %q, %w", token, x.unexpected())
	}
	x.take()
	return nil
}

// unexpected says what stands where something else should, with advice for the usual slips.
func (x *expression) unexpected() error {
	switch token := x.peek(); {
	case token == "":
		return errors.New("the expression ends too early")
	case token == ",":
		return errors.New("unexpected comma: commas only separate arguments of functions; write 1234.5, not 1,234.5")
	case token == "(" || startsNumber(token) || startsName(token):
		return fmt.Errorf("unexpected %q: write * for multiplication", preview(token, 40))
	default:
		return fmt.Errorf("unexpected %q", token)
	}
}

func startsNumber(s string) bool {
	return s != "" && (s[0] >= '0' && s[0] <= '9' || s[0] == '.')
}

func startsName(s string) bool {
	return s != "" && (s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z' || s[0] == '_')
}

// numberLength is the length of the number that s starts with. An e belongs to it only with an
// exponent after it.
func numberLength(s string) int {
	digits := func(i int) int {
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i
	}
	i := 0
	for i < len(s) && startsNumber(s[i:]) {
		i++
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		start := i + 1
		if start < len(s) && (s[start] == '+' || s[start] == '-') {
			start++
		}
		if end := digits(start); end > start {
			return end
		}
	}
	return i
}

var constants = map[string]float64{"pi": math.Pi, "e": math.E}

func knownNames() string {
	var names []string
	for name := range functions {
		names = append(names, name)
	}
	for name := range constants {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
