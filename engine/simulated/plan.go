package simulated

// kinds of prompts, in the order in which they are tried: a prompt that asks
// for a program may well hold numbers and file names, but hardly the reverse.
var kinds = []func(*prose) task{findProgram, findCalculation, findSteps}

// plan decides how a prompt is dealt with.
func plan(prompt string) task {
	if t := findStub(prompt); t != nil {
		return t
	}
	p := readProse(prompt)
	for _, find := range kinds {
		if t := find(p); t != nil {
			return t
		}
	}
	return general(prompt)
}

// reply is the model's next move in a conversation.
func (r *request) reply(k key, m marks) move {
	run := &replay{request: r}
	next := run.play(m.wrap(plan(m.prompt)))
	m.bend(&next)
	if !r.reasoning || m.has("no-reasoning") || r.silent(k) && !m.has("reasoning-only") {
		next.thought = ""
	}
	return next
}

// silent reports whether a turn goes without reasoning, as some later ones do.
func (r *request) silent(k key) bool {
	return r.turn > 0 && k.number("thought")%6 == 0
}
