package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"hermes-batch/db"
)

// author writes text that compresses as prose of models does: words of a
// large vocabulary, the frequent ones far more often than the rare ones, with
// numbers between them.
type author struct {
	rng   *rand.Rand
	next  *rand.Zipf
	words []string
}

const vocabulary = 6000

func newAuthor(seed uint64) *author {
	rng := rand.New(rand.NewPCG(seed, 1))
	a := &author{rng: rng, next: rand.NewZipf(rng, 1.05, 3, vocabulary-1), words: make([]string, vocabulary)}
	same := rand.New(rand.NewPCG(7, 7)) // all authors have one vocabulary
	for i := range a.words {
		a.words[i] = word(same)
	}
	return a
}

func word(rng *rand.Rand) string {
	syllables := strings.Fields("an er in on re th st le co de ti ra me ne ro li ta po se al ing ment con per for ver ex un pre sub ly ous qu")
	var b strings.Builder
	for range 1 + rng.IntN(4) {
		b.WriteString(syllables[rng.IntN(len(syllables))])
	}
	return b.String()
}

// text returns that many bytes.
func (a *author) text(size int) string {
	var b strings.Builder
	for b.Len() < size {
		switch n := a.rng.IntN(30); n {
		case 0:
			b.WriteString(".\n")
		case 1, 2:
			b.WriteString(", ")
		case 3:
			fmt.Fprintf(&b, " %d", a.rng.IntN(10_000))
		default:
			b.WriteByte(' ')
		}
		b.WriteString(a.words[a.next.Uint64()])
	}
	return b.String()[:size]
}

// Bytes of what a turn of 4 KB says and thinks.
const (
	saidBytes    = 3 << 10
	thoughtBytes = 1 << 10
)

// retell gives a turn other words, so many bytes of them and its thoughts, in
// its entry and in the reply as it came.
func (a *author) retell(t db.Turn, said int, id string) *db.Turn {
	t.Entry.Value, t.Entry.Reasoning = a.text(said), a.text(thoughtBytes)
	var calls []json.RawMessage
	for _, c := range t.Entry.ToolCalls {
		calls = append(calls, fmt.Appendf(nil, `{"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}`, c.ID, c.Name, c.Arguments))
	}
	t.Raw, _ = json.Marshal(map[string]any{ // of strings alone, which cannot fail
		"id": id, "object": "chat.completion", "created": 1_750_000_000, "model": "simulated",
		"choices": []any{map[string]any{"index": 0, "finish_reason": t.Finish, "message": map[string]any{
			"role": "assistant", "content": t.Entry.Value, "reasoning": t.Entry.Reasoning, "tool_calls": calls}}},
		"usage": map[string]any{"prompt_tokens": t.Usage.PromptTokens, "completion_tokens": t.Usage.CompletionTokens},
	})
	return &t
}

// turnsOf returns turns of 4 KB that are all different.
func turnsOf(n int) []*db.Turn {
	a := newAuthor(1)
	like := db.Turn{Entry: db.Entry{From: "gpt", ToolCalls: []db.ToolCall{{ID: "call_0", Name: "calculator", Arguments: `{"expression": "17 * 23"}`}}}, Finish: "tool_calls"}
	turns := make([]*db.Turn, n)
	for i := range turns {
		turns[i] = a.retell(like, saidBytes, fmt.Sprintf("reply-%d", i))
	}
	return turns
}
