package main

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// turn is what the scripted model does in one of its turns.
type turn []call

// call is a call of a tool. In what it says, {n} stands for the number of the
// prompt, and {session} for the last job that was started.
type call struct {
	tool string
	args pairs
}

// pairs are names and values by turns.
type pairs []any

func (p pairs) MarshalJSON() ([]byte, error) {
	object := make(map[string]any, len(p)/2)
	for i := 0; i < len(p); i += 2 {
		object[p[i].(string)] = p[i+1]
	}
	return json.Marshal(object)
}

func run(command string) call { return call{"terminal", pairs{"command", command}} }
func background(command string) call {
	return call{"terminal", pairs{"command", command, "background", true}}
}
func onTerminal(command string) call { return call{"terminal", pairs{"command", command, "pty", true}} }

func within(seconds int, command string) call {
	return call{"terminal", pairs{"command", command, "timeout", seconds}}
}

// process looks after the last job.
func process(action string, more ...any) call {
	return call{"process", append(pairs{"action", action, "session_id", "{session}"}, more...)}
}

// play is the reply of the scripted model: its next turn, or its last word.
func (k *kind) play(a *asked) []byte {
	message := map[string]any{"role": "assistant", "reasoning": fmt.Sprintf("This is about %s, prompt %d.", k.name, a.number)}
	finish := "stop"
	if a.turn < len(k.turns) {
		finish = "tool_calls"
		var calls []any
		for i, c := range k.turns[a.turn] {
			calls = append(calls, map[string]any{"id": fmt.Sprintf("call_%d_%d_%d", a.number, a.turn, i), "type": "function",
				"function": map[string]any{"name": c.tool, "arguments": c.arguments(a)}})
		}
		message["content"], message["tool_calls"] = nil, calls
	} else {
		message["content"] = fmt.Sprintf("Prompt %d is done.", a.number)
	}
	return encode(map[string]any{"id": fmt.Sprintf("chatcmpl-%d-%d", a.number, a.turn), "object": "chat.completion", "model": "simulated",
		"choices": []any{map[string]any{"index": 0, "finish_reason": finish, "message": message}},
		"usage":   map[string]any{"prompt_tokens": a.size / 4, "completion_tokens": 20}})
}

var session = regexp.MustCompile(`"session_id":"([^"]+)"`)

func (c call) arguments(a *asked) string {
	text := numbered(string(encode(c.args)), a.number)
	job := "none"
	for _, result := range a.results {
		for _, m := range session.FindAllStringSubmatch(result, -1) {
			job = m[1]
		}
	}
	return placeholder.ReplaceAllLiteralString(text, job)
}

var placeholder = regexp.MustCompile(`\{session\}`)

// encode is JSON of what cannot fail to be it.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
