package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"hermes-batch/tools/sandbox"
)

// How a call ended. Only StatusOK is a success.
const (
	StatusOK           = "ok"
	StatusError        = "error"
	StatusTimeout      = "timeout"
	StatusBlocked      = "blocked"
	StatusBadArguments = "bad_arguments"
)

// Result is what a call came to.
type Result struct {
	Text    string         // for the model: a JSON object, valid UTF-8, at most resultLimit bytes
	Success bool           // false if the call was refused, timed out, had bad arguments or reports an error
	Status  string         // one of the Status constants
	Dropped int64          // bytes of output that Text does not show
	Full    *Full          // all of what Text shows a part of; nil if it shows all
	Shell   *sandbox.Shell // the shell state after the call; nil if it is as before
}

// Limits of what a model is shown, in bytes: they follow tokens more closely than characters do,
// and they bound memory.
const (
	resultLimit = 100_000
	outputLimit = 50_000 // output of a command
	headPercent = 40     // of a cut text; the rest is its end, where results and errors stand
)

func success(v any) Result {
	return Result{Text: encode(v), Success: true, Status: StatusOK}
}

// failure is a result with nothing but an error in it.
func failure(status, message string) Result {
	type report struct {
		Error string `json:"error"`
	}
	return Result{Text: encode(report{message}), Status: status}
}

// finish makes of what a tool says what the model is shown, for every tool alike: a result keeps
// within resultLimit by cutting its longest string in the middle, so that it stays a JSON object
// of the same shape, and one that does not show all names the file that has it.
func (c *Call) finish(r Result) (Result, error) {
	r.Text = strings.ToValidUTF8(r.Text, "\uFFFD")
	if len(r.Text) <= resultLimit && r.Full == nil {
		return r, nil
	}
	ms, longest := longestString(r.Text)
	var text string
	if longest >= 0 {
		if err := json.Unmarshal(ms[longest].value, &text); err != nil {
			return r, err
		}
	}
	if r.Full == nil {
		var err error
		if r.Full, err = c.keep(text); err != nil {
			return r, err
		}
	}
	ms = append(ms, r.Full.members(c.nameFor(r.Full.File, r.Shell))...)
	whole := object(ms)
	if over := len(whole) - resultLimit; over > 0 {
		short, dropped := cutToEncoded(text, len(ms[longest].value)-over)
		ms[longest].value = json.RawMessage(short)
		r.Dropped += dropped
		whole = object(ms)
	}
	r.Text = string(whole)
	return r, nil
}

// longestString returns the members of a result and which of them can be cut: its longest string,
// -1 if there is none and no need. A result whose length lies elsewhere becomes one string.
func longestString(result string) ([]member, int) {
	ms, err := members([]byte(result))
	longest := -1
	for i, m := range ms {
		if m.value[0] == '"' && (longest < 0 || len(m.value) > len(ms[longest].value)) {
			longest = i
		}
	}
	rest := len(result)
	if longest >= 0 {
		rest -= len(ms[longest].value)
	}
	if err != nil || rest > resultLimit/2 {
		return []member{{"result", json.RawMessage(encode(result))}}, 0
	}
	return ms, longest
}

// cutToEncoded cuts text so that its JSON form has at most room bytes, and returns that form.
func cutToEncoded(text string, room int) (string, int64) {
	limit := room
	for {
		short, dropped := cutMiddle(text, limit)
		encoded := encode(short)
		if len(encoded) <= room || limit == 0 {
			return encoded, dropped
		}
		// At least one byte less each time, and by the ratio at which escapes swell the text.
		limit = min(limit-1, limit*room/len(encoded))
	}
}

// cutMiddle keeps about limit bytes of text, head and tail cut at characters, and puts a marker
// between them that names the bytes dropped.
func cutMiddle(text string, limit int) (string, int64) {
	if len(text) <= limit {
		return text, 0
	}
	head := limit * headPercent / 100
	tail := len(text) - (limit - head)
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n[... %d bytes dropped ...]\n%s", text[:head], tail-head, text[tail:]), int64(tail - head)
}

// preview shortens a text for use inside a message.
func preview(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
