package simulated

// move is what the model does in one turn.
type move struct {
	thought string // reasoning; "" none
	say     string // content; "" none
	refusal string
	calls   []call
	finish  string // "": by whether there are calls
}

type call struct {
	name      string
	arguments string // JSON object
}

// task plays a whole conversation from its beginning: each step goes through
// replay.do, and what it returns is the final answer.
type task func(*replay) answer

type answer struct{ thought, text string }

// replay is how a stateless model keeps its thread. A task is played from its
// beginning for each request; steps that the request already holds return
// their results, and the first one that it does not hold becomes the reply.
// From there on every step returns nothing and what the task makes of that is
// not looked at, so tasks need no early return, only an end.
type replay struct {
	*request
	used int   // past turns that were played
	next *move // the reply; nil while the play is still in the past
}

// do is one turn that calls tools. It returns one result a call.
func (r *replay) do(thought, say string, calls ...call) []result {
	results := make([]result, len(calls))
	switch {
	case r.next != nil:
	case r.used == len(r.past):
		r.next = &move{thought: thought, say: say, calls: calls}
	default:
		for i, text := range r.past[r.used].results {
			if i < len(results) {
				results[i] = parseResult(text)
			}
		}
		r.used++
	}
	return results
}

// one is a turn with a single call.
func (r *replay) one(thought, say string, c call) result {
	return r.do(thought, say, c)[0]
}

// play returns the move that a task makes at this point of the conversation.
func (r *replay) play(t task) move {
	a := t(r)
	if r.next != nil {
		return *r.next
	}
	return move{thought: a.thought, say: a.text}
}

// pick chooses one of several wordings, the same for all turns of a prompt.
func (r *replay) pick(wordings ...string) string {
	return wordings[len(r.prompt)%len(wordings)]
}
