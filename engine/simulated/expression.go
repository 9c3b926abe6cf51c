package simulated

import (
	"math"
	"strconv"
	"strings"
)

const (
	maxNesting      = 24 // parentheses and signs within each other
	mostExpressions = 16 // of one prompt
)

// expression is arithmetic that was found in prose.
type expression struct {
	text    string  // in calculator syntax: + - * / % ** ( ) sqrt()
	value   float64 // what it comes to, worked out without a tool
	steps   int     // operations in it
	loosest int     // precedence of the outermost operation
	end     int     // where it ends in the prose
}

// Precedences, the loosest first.
const (
	sums = iota + 1
	products
	signs
	powers
	atoms
)

// findExpressions returns the expressions with at least one operation in a
// prose that wording has gone over, in order.
func findExpressions(prose string) []expression {
	var found []expression
	for i := 0; i < len(prose) && len(found) < mostExpressions; {
		if !startsOperand(prose, i) {
			i++
			continue
		}
		e, ok := scanner{prose}.binary(i, sums, 0)
		if !ok || e.steps == 0 || inWord(prose, e.end) {
			i = skipNumber(prose, i)
			continue
		}
		if !date().MatchString(prose[i:e.end]) {
			found = append(found, e)
		}
		i = e.end
	}
	return found
}

// date is what looks like a difference and is none.
var date = lazy(`^\d{4}-\d\d?-\d\d?$`)

// isExpression reports whether a whole text is arithmetic.
func isExpression(text string) bool {
	low := wording.Replace(text)
	e, ok := scanner{low}.binary(0, sums, 0)
	return ok && e.steps > 0 && e.end == len(low)
}

// startsOperand reports whether an expression may begin at i: not inside of a
// word, a version or a path.
func startsOperand(s string, i int) bool {
	if i > 0 && (isWordByte(s[i-1]) || s[i-1] == '.' || s[i-1] == '/') {
		return false
	}
	return isDigit(s[i]) || s[i] == '(' || s[i] == '-' || strings.HasPrefix(s[i:], "sqrt")
}

// skipNumber returns the position after the number or the sign at i.
func skipNumber(s string, i int) int {
	if !isDigit(s[i]) && s[i] != '.' {
		return i + 1
	}
	for i++; i < len(s) && (isDigit(s[i]) || s[i] == '.' && i+1 < len(s) && isDigit(s[i+1])); i++ {
	}
	return i
}

// scanner reads the longest valid expression at a position: an operator that
// no operand follows ends it.
type scanner struct{ s string }

func (p scanner) binary(i, level, depth int) (expression, bool) {
	left, ok := p.operand(i, level, depth)
	for ok {
		op, next := p.operator(left.end, level)
		if op == "" {
			break
		}
		right, found := p.operand(next, level, depth)
		if !found {
			break
		}
		left = combine(left, op, right, level)
	}
	return left, ok
}

func (p scanner) operand(i, level, depth int) (expression, bool) {
	if level == sums {
		return p.binary(i, products, depth)
	}
	return p.signed(i, depth)
}

// operator returns the operator of a level at i, and the position after it.
func (p scanner) operator(i, level int) (string, int) {
	i = p.space(i)
	rest := p.s[i:]
	if rest == "" {
		return "", i
	}
	switch c := rest[0]; {
	case level == sums && (c == '+' || c == '-'):
		return rest[:1], i + 1
	case level == products && (c == '*' && !strings.HasPrefix(rest, "**") || c == '/' || c == '%'):
		return rest[:1], i + 1
	case level == products && c == 'x' && len(rest) > 1 && (rest[1] == ' ' || isDigit(rest[1])):
		return "*", i + 1
	}
	return "", i
}

func (p scanner) signed(i, depth int) (expression, bool) {
	i = p.space(i)
	if i >= len(p.s) || p.s[i] != '-' {
		return p.power(i, depth)
	}
	if depth > maxNesting {
		return expression{}, false
	}
	e, ok := p.signed(i+1, depth+1)
	if !ok {
		return e, false
	}
	e.text, e.value, e.loosest = "-"+e.within(signs), -e.value, signs
	return e, true
}

func (p scanner) power(i, depth int) (expression, bool) {
	base, ok := p.atom(i, depth)
	at := p.space(base.end)
	if !ok || !strings.HasPrefix(p.s[at:], "**") {
		return base, ok
	}
	exponent, found := p.signed(at+2, depth+1)
	if !found {
		return base, true
	}
	return combine(base, "**", exponent, powers), true
}

// atom is a number, a percentage, a root or something in parentheses.
func (p scanner) atom(i, depth int) (expression, bool) {
	i = p.space(i)
	switch {
	case i >= len(p.s) || depth > maxNesting:
		return expression{}, false
	case p.s[i] == '(':
		return p.group(i, depth)
	case strings.HasPrefix(p.s[i:], "sqrt"):
		return p.root(i+len("sqrt"), depth)
	}
	n, ok := p.number(i)
	if ok && n.end < len(p.s) && p.s[n.end] == '%' {
		return p.percent(n, depth)
	}
	return n, ok
}

func (p scanner) group(i, depth int) (expression, bool) {
	e, ok := p.binary(i+1, sums, depth+1)
	end := p.space(e.end)
	if !ok || end >= len(p.s) || p.s[end] != ')' {
		return expression{}, false
	}
	if e.loosest < atoms {
		e.text = "(" + e.text + ")"
	}
	e.loosest, e.end = atoms, end+1
	return e, true
}

func (p scanner) root(i, depth int) (expression, bool) {
	e, ok := p.atom(i, depth+1)
	if !ok {
		return e, false
	}
	if !strings.HasPrefix(e.text, "(") {
		e.text = "(" + e.text + ")"
	}
	e.text = "sqrt" + e.text
	e.value, e.steps, e.loosest = math.Sqrt(e.value), e.steps+1, atoms
	return e, true
}

// percent reads what follows "15%": "of X" makes it a share of X, another
// operand makes the sign a remainder, and else it stands for a hundredth. A
// share multiplies first, so that it stays exact as long as possible.
func (p scanner) percent(n expression, depth int) (expression, bool) {
	at := p.space(n.end + 1)
	rest := p.s[at:]
	hundred := expression{text: "100", value: 100, loosest: atoms, end: n.end + 1}
	switch {
	case strings.HasPrefix(rest, "of "):
		whole, ok := p.signed(at+len("of "), depth+1)
		hundred.end = whole.end
		return combine(combine(n, "*", whole, products), "/", hundred, products), ok
	case strings.HasPrefix(rest, "(") || rest != "" && isDigit(rest[0]):
		return n, true
	}
	return combine(n, "/", hundred, products), true
}

// number reads digits with thousands separators and a fraction. What has a
// leading zero (a date, a clock) or runs into a word is no number.
func (p scanner) number(i int) (expression, bool) {
	start, digits := i, []byte(nil)
	for i < len(p.s) && (isDigit(p.s[i]) || p.thousands(start, i)) {
		if p.s[i] != ',' {
			digits = append(digits, p.s[i])
		}
		i++
	}
	if i == start || digits[0] == '0' && len(digits) > 1 {
		return expression{}, false
	}
	if i+1 < len(p.s) && p.s[i] == '.' && isDigit(p.s[i+1]) {
		end := skipNumber(p.s, i)
		digits, i = append(digits, p.s[i:end]...), end
	}
	value, err := strconv.ParseFloat(string(digits), 64)
	if err != nil || inWord(p.s, i) {
		return expression{}, false
	}
	return expression{text: string(digits), value: value, loosest: atoms, end: i}, true
}

// thousands reports whether the comma at i stands before exactly three digits.
func (p scanner) thousands(start, i int) bool {
	s := p.s
	if s[i] != ',' || i == start || i+3 >= len(s) {
		return false
	}
	return isDigit(s[i+1]) && isDigit(s[i+2]) && isDigit(s[i+3]) && (i+4 == len(s) || !isDigit(s[i+4]))
}

func (p scanner) space(i int) int {
	for i < len(p.s) && (p.s[i] == ' ' || p.s[i] == '\t') {
		i++
	}
	return i
}

func combine(left expression, op string, right expression, level int) expression {
	rightLevel := level + 1 // all but powers group to the left
	if level == powers {
		rightLevel = level
	}
	e := expression{steps: left.steps + right.steps + 1, loosest: level, end: right.end}
	leftLevel := level
	if level == powers {
		leftLevel = atoms
	}
	e.text = left.within(leftLevel) + " " + op + " " + right.within(rightLevel)
	e.value = apply(left.value, op, right.value)
	return e
}

// within is the text as an operand of a level, in parentheses if it needs them.
func (e expression) within(level int) string {
	if e.loosest >= level {
		return e.text
	}
	return "(" + e.text + ")"
}

func apply(a float64, op string, b float64) float64 {
	switch op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "/":
		return a / b
	case "%":
		return math.Mod(a, b)
	}
	return math.Pow(a, b)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWordByte(c byte) bool {
	return c == '_' || isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// inWord reports whether a word goes on at i, as in "3rd" or "2nd". The x of
// "3x4" is a sign of multiplication.
func inWord(s string, i int) bool {
	if i >= len(s) || !isWordByte(s[i]) {
		return false
	}
	return s[i] != 'x' || i+1 >= len(s) || !isDigit(s[i+1])
}
