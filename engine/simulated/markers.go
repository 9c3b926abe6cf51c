package simulated

import (
	"strconv"
	"strings"
	"time"
)

// Marker is a word in square brackets that a prompt may hold anywhere. The rest
// of the prompt is dealt with as if it were not there.
type Marker struct {
	Form   string // as it stands in a prompt
	Effect string
}

// Markers lists the markers, for help texts.
func Markers() []Marker {
	return []Marker{
		{"[no-reasoning]", "no turn has reasoning"},
		{"[unknown-tool]", "first calls a tool that does not exist, then goes on"},
		{"[unknown-tool-loop]", "calls a tool that does not exist, for ever"},
		{"[bad-arguments]", "first calls a tool with arguments that are no JSON, then goes on"},
		{"[max-turns]", "calls an offered tool, for ever"},
		{"[parallel]", "first makes three calls in one turn, then goes on"},
		{"[empty-first]", "the first reply is empty, the next one to the same request is not"},
		{"[empty]", "every reply is empty"},
		{"[reasoning-only]", "the answer has reasoning and no content"},
		{"[refuse]", "refuses"},
		{"[cut]", "every answer ends in the middle, with finish_reason length"},
		{"[long N]", "the answer has N bytes, at most 64 MiB"},
		{"[slow N]", "every reply takes N ms more, at most an hour"},
		{"[error N]", "every request fails with HTTP status N from 400 to 599"},
	}
}

const (
	longestAnswer = 64 << 20 // bytes
	longestDelay  = time.Hour
)

// marks are the markers of one prompt with their numbers, and the prompt
// without them.
type marks struct {
	numbers map[string]int
	prompt  string
}

func (m marks) has(name string) bool {
	_, ok := m.numbers[name]
	return ok
}

// findMarks reads the markers of a prompt.
func findMarks(prompt string) marks {
	m := marks{prompt: prompt}
	var rest strings.Builder
	from := 0
	for at := strings.IndexByte(prompt, '['); at >= 0; {
		name, n, size := markAt(prompt[at:])
		if size > 0 {
			if m.numbers == nil {
				m.numbers = map[string]int{}
			}
			m.numbers[name] = n
			rest.WriteString(prompt[from:at])
			from = at + size
		}
		next := strings.IndexByte(prompt[at+1:], '[')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	if from > 0 {
		rest.WriteString(prompt[from:])
		m.prompt = strings.TrimSpace(rest.String())
	}
	return m
}

// known holds the name of each marker and whether a number belongs to it.
var known = func() map[string]bool {
	names := map[string]bool{}
	for _, m := range Markers() {
		name, _, numbered := strings.Cut(strings.Trim(m.Form, "[]"), " ")
		names[name] = numbered
	}
	return names
}()

// markAt reads the marker at the beginning of s; size 0 if there is none.
func markAt(s string) (name string, n, size int) {
	end := strings.IndexByte(s[:min(len(s), 40)], ']')
	if end < 0 {
		return "", 0, 0
	}
	name, tail, numbered := strings.Cut(s[1:end], " ")
	if needs, ok := known[name]; !ok || needs != numbered {
		return "", 0, 0
	}
	if numbered {
		var err error
		if n, err = strconv.Atoi(tail); err != nil || n < 0 {
			return "", 0, 0
		}
	}
	return name, n, end + 1
}

// delay is how much longer the reply takes.
func (m marks) delay() time.Duration {
	return min(time.Duration(min(m.numbers["slow"], int(longestDelay/time.Millisecond)))*time.Millisecond, longestDelay)
}

// status is the HTTP status that the request fails with; 0 if it does not.
func (m marks) status() int {
	if n := m.numbers["error"]; n >= 400 && n <= 599 {
		return n
	}
	return 0
}

// wrap puts the turns that markers ask for before a task.
func (m marks) wrap(t task) task {
	if len(m.numbers) == 0 {
		return t
	}
	return func(r *replay) answer {
		for m.has("unknown-tool-loop") && r.next == nil {
			r.one("There must be a tool for this. I try it by its name.", "", call{missingTool, arguments("question", "What now?")})
		}
		for n := 1; m.has("max-turns") && r.next == nil && r.canCount(); n++ {
			r.one("This is not finished. I go on with step "+strconv.Itoa(n)+".", "", r.counting(n))
		}
		m.before(r)
		return t(r)
	}
}

// missingTool is a name that no tool has and none resembles.
const missingTool = "consult_oracle"

func (m marks) before(r *replay) {
	if m.has("unknown-tool") {
		r.one("An oracle might know this at once. I ask it.", "", call{missingTool, arguments("question", firstLine(m.prompt, 80))})
	}
	if m.has("bad-arguments") && r.canCount() {
		c := r.counting(1)
		c.arguments = c.arguments[:len(c.arguments)-3]
		r.one("I start with a call of "+c.name+".", "", c)
	}
	if m.has("parallel") && r.canCount() {
		r.do("Three small checks do not depend on each other, so I make them at once.", "", r.counting(1), r.counting(2), r.counting(3))
	}
}

// bend changes a move as the markers ask for.
func (m marks) bend(next *move) {
	if m.has("empty") {
		*next = move{}
	}
	if len(next.calls) > 0 {
		return
	}
	if n, ok := m.numbers["long"]; ok {
		next.say = filler(min(n, longestAnswer))
	}
	switch {
	case m.has("refuse"):
		next.say, next.refusal, next.finish = "", "I cannot help with this request.", "content_filter"
	case m.has("cut"):
		next.say, next.finish = strings.ToValidUTF8(next.say[:len(next.say)/2], ""), "length"
	case m.has("reasoning-only"):
		next.say = ""
	}
}

func filler(n int) string {
	const text = "This sentence fills the answer up to the length that was asked for. "
	return strings.Repeat(text, n/len(text)+1)[:n]
}

// canCount reports whether a tool is offered that can be called to no end.
func (r *replay) canCount() bool {
	return r.offers("calculator") || r.offers("terminal") || r.offers("read_file")
}

// counting is the nth of many harmless calls, by turns of what is offered.
func (r *replay) counting(n int) call {
	step := strconv.Itoa(n)
	var choice []call
	if r.offers("calculator") {
		choice = append(choice, calculate(step+" + 1"))
	}
	if r.offers("terminal") {
		choice = append(choice, command("echo step "+step))
	}
	if len(choice) == 0 {
		return call{"read_file", arguments("path", "step-"+step+".txt")}
	}
	return choice[n%len(choice)]
}
