package simulated

import (
	"fmt"
	"strings"
)

const number = `\d+(?:,\d{3})*(?:\.\d+)?`

var (
	// wording turns arithmetic in words into symbols. The prose is in lower case.
	wording = strings.NewReplacer(
		" multiplied by ", " * ", " divided by ", " / ", " plus ", " + ", " minus ", " - ", " times ", " * ",
		" to the power of ", " ** ", " raised to the power ", " ** ", " raised to ", " ** ",
		" modulo ", " % ", " mod ", " % ", " squared", " ** 2", " cubed", " ** 3",
		"the square root of ", "sqrt ", "square root of ", "sqrt ", "√", "sqrt ",
		" percent", "%", " per cent", "%", "^", "**", "×", "*", "·", "*", "÷", "/", "−", "-", "–", "-")

	aggregate = lazy(`(sum|product|average|mean|difference|quotient) (?:of|between) (?:(?:all|the|whole|numbers|integers|from) )*(` +
		number + `(?:(?:,? and |, | to | through )` + number + `)+)`)
	imperative = lazy(`(add|subtract|multiply|divide) (` + number + `) (?:and|to|from|by|with) (` + number + `)`)
	separators = lazy(`,? and |, | to | through `)
	digits     = lazy(number)
)

var aggregateCues = []string{"sum of", "product of", "average of", "mean of", "difference", "quotient of", "add ", "subtract ", "multiply ", "divide "}

var operators = map[string]string{"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}

// aggregates are expressions that are told as a list of numbers.
func aggregates(low string) (found []string) {
	if !containsAny(low, aggregateCues) {
		return nil // the patterns are slow on long texts
	}
	for _, m := range aggregate().FindAllStringSubmatch(low, -1) {
		found = append(found, aggregated(m[1], m[2]))
	}
	for _, m := range imperative().FindAllStringSubmatch(low, -1) {
		a, b := withoutCommas(m[2]), withoutCommas(m[3])
		if m[1] == "subtract" {
			a, b = b, a
		}
		found = append(found, a+" "+operators[m[1]]+" "+b)
	}
	return found
}

func aggregated(kind, list string) string {
	numbers := separators().Split(list, -1)
	for i := range numbers {
		numbers[i] = withoutCommas(numbers[i])
	}
	a, b := numbers[0], numbers[len(numbers)-1]
	series := strings.Contains(list, " to ") || strings.Contains(list, " through ")
	switch {
	case kind == "sum" && series && a == "1":
		return fmt.Sprintf("%s * (%s + 1) / 2", b, b)
	case kind == "sum" && series:
		return fmt.Sprintf("(%s + %s) * (%s - %s + 1) / 2", a, b, b, a)
	case kind == "average" || kind == "mean":
		return fmt.Sprintf("(%s) / %d", strings.Join(numbers, " + "), len(numbers))
	}
	return strings.Join(numbers, joints[kind])
}

var joints = map[string]string{"sum": " + ", "product": " * ", "difference": " - ", "quotient": " / "}

// link is one step of "… then multiply the result by 3".
type link struct{ op, number string }

// links reads the steps that follow an expression.
func links(low string) (chain []link) {
	for i, step := range strings.Split(low, "then ") {
		verb, rest, _ := strings.Cut(step, " ")
		l := link{operators[verb], withoutCommas(digits().FindString(rest))}
		switch verb {
		case "square":
			l = link{"**", "2"}
		case "double":
			l = link{"*", "2"}
		case "halve":
			l = link{"/", "2"}
		}
		if i > 0 && l.op != "" && l.number != "" {
			chain = append(chain, l)
		}
	}
	return chain
}

// after is the step with the result so far put in.
func (l link) after(result string) string {
	if strings.HasPrefix(result, "-") {
		result = "(" + result + ")"
	}
	return result + " " + l.op + " " + l.number
}

func withoutCommas(number string) string { return strings.ReplaceAll(number, ",", "") }
