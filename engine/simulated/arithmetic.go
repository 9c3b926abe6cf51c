package simulated

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// calculation is an arithmetic prompt: expressions, what is to be done with
// the last one's result, and the file that the results go to.
type calculation struct {
	expressions []string
	chain       []link
	file        string
}

// cues are what makes an expression in a prompt a question.
var cues = []string{"what is", "what's", "what are", "comput", "calculat", "evaluate", "how much", "work out", "solve",
	"result", "= ?", "=?"}

func findCalculation(p *prose) task {
	if !strings.ContainsAny(p.bare, "0123456789") || p.hasCode() {
		return nil
	}
	// Twice, since the space between two phrases can belong to one of them only.
	low := " " + wording.Replace(wording.Replace(strings.ToLower(p.bare)))
	c := calculation{expressions: aggregates(low)}
	last, covered := 0, 0
	for _, e := range findExpressions(low) {
		c.expressions = append(c.expressions, e.text)
		last, covered = e.end, covered+len(e.text)
	}
	asked := containsAny(low, cues) || containsAny(low, aggregateCues)
	if len(c.expressions) == 0 || !asked && covered*2 < len(low) {
		return nil
	}
	c.chain = links(low[last:])
	if p.mentionsSaving() {
		c.file = p.file
	}
	return c.play
}

func (c calculation) play(r *replay) answer {
	results, note := c.first(r)
	lines := equations(c.expressions, results)
	for i := 0; i < len(c.chain) && note == ""; i++ {
		e := []string{c.chain[i].after(results[len(results)-1])}
		results, note = solve(r, "Next comes "+e[0]+", with the result so far put in.", e)
		lines = append(lines, equations(e, results)...)
	}
	text := strings.Join(lines, "\n")
	if note == "" && len(c.chain) > 0 {
		text += "\n\nThe result is " + results[len(results)-1] + "."
	}
	if note == "" && c.file != "" {
		return c.save(r, text, results)
	}
	return answer{review(results, note), strings.TrimSpace(text + note)}
}

// review is the last thought.
func review(results []string, note string) string {
	if note != "" {
		return "Not everything went well. I report what there is and what went wrong."
	}
	return "The result is " + strings.Join(results, " and ") + ", which has a sensible size for this question. I can answer."
}

func (c calculation) first(r *replay) (results []string, note string) {
	thought := "The question comes down to " + c.expressions[0] + "."
	if n := len(c.expressions); n > 1 {
		thought = fmt.Sprintf("There are %d separate calculations here: %s.", n, strings.Join(c.expressions, "; "))
	}
	return solve(r, thought, c.expressions)
}

// solve works expressions out: with the calculator, all in one turn, or else
// in the head. The note says what went wrong.
func solve(r *replay, thought string, expressions []string) (results []string, note string) {
	if !r.offers("calculator") {
		for _, e := range expressions {
			results = append(results, inHead(e))
		}
		return results, ""
	}
	thought += r.pick(" The calculator is exact, so I use it rather than my head.",
		" I could try it in my head, but the calculator is safer.", " That is what the calculator is for.")
	calls := make([]call, len(expressions))
	for i, e := range expressions {
		calls[i] = calculate(e)
	}
	for i, res := range r.do(thought, "", calls...) {
		value, trouble := res.value(), res.failure()
		if trouble != "" {
			value, trouble = again(r, expressions[i], trouble)
		}
		if trouble != "" {
			note += fmt.Sprintf("\nThe calculator could not work out %s: %s", expressions[i], trouble)
		}
		results = append(results, value)
	}
	return results, note
}

// again tries an expression once more in the other common spelling of powers.
func again(r *replay, expression, trouble string) (value, still string) {
	other := strings.ReplaceAll(expression, "**", "^")
	if other == expression {
		return "", trouble
	}
	res := r.one("The calculator did not take "+expression+" ("+trouble+"). Perhaps it writes powers with ^.", "", calculate(other))
	return res.value(), res.failure()
}

// inHead works an expression out without a tool.
func inHead(text string) string {
	e, ok := scanner{text}.binary(0, sums, 0)
	switch {
	case !ok || math.IsNaN(e.value) || math.IsInf(e.value, 0):
		return "undefined"
	case e.value == math.Trunc(e.value) && math.Abs(e.value) < 1<<53:
		return strconv.FormatFloat(e.value, 'f', -1, 64)
	}
	return strconv.FormatFloat(e.value, 'g', 12, 64)
}

func equations(expressions, results []string) (lines []string) {
	for i, e := range expressions {
		if results[i] != "" {
			lines = append(lines, e+" = "+results[i])
		}
	}
	return lines
}

// save writes the results to the file and reads it back.
func (c calculation) save(r *replay, text string, results []string) answer {
	content := strings.Join(results, "\n") + "\n"
	if trouble := r.writeFile("The result should also go into "+c.file+".", c.file, content); trouble != "" {
		return answer{"The result is known, but the file could not be written.", text + "\nIt could not be written to " + c.file + ": " + trouble}
	}
	saved, _, trouble := r.readFile("I read "+c.file+" back to be sure.", c.file)
	if trouble != "" || strings.TrimSpace(saved) != strings.TrimSpace(content) {
		return answer{"The file does not hold what I wrote.", text + "\nI wrote it to " + c.file + ", but could not see it there."}
	}
	return answer{"The file holds the result.", text + "\nIt is written to " + c.file + "."}
}

func containsAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
