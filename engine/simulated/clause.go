package simulated

import "strings"

// clause is one instruction of a prompt: a verb with what belongs to it.
type clause struct {
	verb string // in lower case; "" before the first verb
	text string // masked, the verb included
	low  string // text in lower case
}

// deeds are what verbs ask for.
type deed int

const (
	nothing deed = iota
	toCreate
	toAdd
	toChange
	toRemove
	toArrange
	toRead
	toAsk
	toExecute
	toTransfer
)

var verbs = map[string]deed{
	"create": toCreate, "write": toCreate, "save": toCreate, "make": toCreate, "put": toCreate, "store": toCreate,
	"append": toAdd, "add": toAdd,
	"change": toChange, "replace": toChange, "substitute": toChange, "correct": toChange, "fix": toChange,
	"remove": toRemove, "delete": toRemove,
	"sort": toArrange,
	"read": toRead, "open": toRead, "show": toRead, "display": toRead, "print": toRead, "cat": toRead,
	"how": toAsk, "what": toAsk, "what's": toAsk, "which": toAsk, "who": toAsk, "tell": toAsk, "count": toAsk, "report": toAsk, "list": toAsk, "check": toAsk, "find": toAsk,
	"run": toExecute, "execute": toExecute, "use": toExecute,
	"copy": toTransfer, "move": toTransfer, "rename": toTransfer,
}

// leads are words after which a verb begins a new instruction.
var leads = map[string]bool{"and": true, "then": true, "please": true, "finally": true, "also": true, "next": true,
	"afterwards": true, "you": true}

// clauses divides a masked text into its instructions.
func clauses(masked string) []clause {
	var found []clause
	words := strings.Fields(masked)
	begin, verb, fresh := 0, "", true
	for i, word := range words {
		low := strings.ToLower(strings.Trim(word, ".,:;!?()"))
		if fresh && verbs[low] != nothing {
			found = appendClause(found, verb, words[begin:i])
			begin, verb = i, low
		}
		fresh = leads[low] || strings.ContainsAny(word[len(word)-1:], ".,:;!?")
	}
	return appendClause(found, verb, words[begin:])
}

func appendClause(found []clause, verb string, words []string) []clause {
	if len(words) == 0 {
		return found
	}
	for len(words) > 1 && leads[strings.ToLower(strings.Trim(words[len(words)-1], ","))] {
		words = words[:len(words)-1] // "and then" before the next verb
	}
	text := strings.TrimRight(strings.Join(words, " "), " .,;!")
	return append(found, clause{verb, text, strings.ToLower(text)})
}

func (c clause) has(words ...string) bool { return containsAny(c.low, words) }

// after returns what follows the first of the given phrases.
func (c clause) after(phrases ...string) (string, bool) {
	for _, phrase := range phrases {
		if i := strings.Index(c.low, phrase); i >= 0 && len(c.low) == len(c.text) {
			return strings.TrimSpace(c.text[i+len(phrase):]), true
		}
	}
	return "", false
}
