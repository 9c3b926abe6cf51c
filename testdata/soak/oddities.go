package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
)

// oddities are forms of a reply that come to the same as the usual one.
var oddities = []func(*odd){
	(*odd).argumentsDoubled, (*odd).argumentsAsObject, (*odd).noIDs, (*odd).sameIDs, (*odd).loneSurrogate,
	(*odd).otherReasoning, (*odd).noUsage, (*odd).contentInParts, (*odd).otherFinish, (*odd).otherTypes, (*odd).keptAlive,
}

// odd is a reply that is being bent.
type odd struct {
	reply, message, choice map[string]any
	before                 string // the body
	random                 *rand.Rand
}

// bend gives the body of a reply one of its odd forms.
func bend(body []byte, random *rand.Rand) []byte {
	o := &odd{random: random}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&o.reply); err != nil {
		return body
	}
	choices, _ := o.reply["choices"].([]any)
	if len(choices) == 0 {
		return body
	}
	o.choice = choices[0].(map[string]any)
	o.message = o.choice["message"].(map[string]any)
	oddities[random.IntN(len(oddities))](o)
	return append([]byte(o.before), bytes.ReplaceAll(encode(o.reply), []byte(surrogate), []byte(`\ud83d`))...)
}

// each calls fn with the calls of the reply and their functions.
func (o *odd) each(fn func(call, function map[string]any)) {
	calls, _ := o.message["tool_calls"].([]any)
	for _, c := range calls {
		call := c.(map[string]any)
		fn(call, call["function"].(map[string]any))
	}
}

// ifObject calls fn with the arguments of each call that are a JSON object.
func (o *odd) ifObject(fn func(function map[string]any, arguments string)) {
	o.each(func(_, f map[string]any) {
		if text, _ := f["arguments"].(string); json.Valid([]byte(text)) {
			fn(f, text)
		}
	})
}

func (o *odd) argumentsDoubled() {
	o.ifObject(func(f map[string]any, text string) { f["arguments"] = text + text })
}

func (o *odd) argumentsAsObject() {
	o.ifObject(func(f map[string]any, text string) { f["arguments"] = json.RawMessage(text) })
}

func (o *odd) noIDs() { o.each(func(call, _ map[string]any) { delete(call, "id") }) }

// sameIDs gives all calls of a conversation one id.
func (o *odd) sameIDs() { o.each(func(call, _ map[string]any) { call["id"] = "call" }) }

// surrogate stands for half a character, which no encoder would write.
const surrogate = "<half a character>"

func (o *odd) loneSurrogate() {
	if text, ok := o.message["reasoning"].(string); ok {
		o.message["reasoning"] = text + surrogate + "\x00\x1b[31m\u202e"
	}
}

// otherReasoning moves the thoughts to one of the other places that servers have
// for them.
func (o *odd) otherReasoning() {
	text, ok := o.message["reasoning"].(string)
	if !ok {
		return
	}
	delete(o.message, "reasoning")
	switch o.random.IntN(5) {
	case 0:
		o.message["reasoning_content"] = text
	case 1:
		o.message["thinking"] = text
	case 2:
		o.message["reasoning_details"] = []any{map[string]any{"type": "reasoning.text", "text": text}}
	case 3:
		o.message["reasoning"], o.message["reasoning_content"] = text, text
	default:
		said, _ := o.message["content"].(string)
		o.message["content"] = "<think>" + text + "</think>" + said
	}
}

func (o *odd) noUsage() { delete(o.reply, "usage") }

func (o *odd) contentInParts() {
	if said, ok := o.message["content"].(string); ok {
		half := len([]rune(said)) / 2
		o.message["content"] = []any{
			map[string]any{"type": "text", "text": string([]rune(said)[:half])}, map[string]any{"type": "output_text", "text": string([]rune(said)[half:])}}
	}
}

// otherFinish says "stop" where there are calls, as some servers do.
func (o *odd) otherFinish() {
	if o.choice["finish_reason"] == "tool_calls" {
		o.choice["finish_reason"] = "stop"
	}
}

// otherTypes sends values of types that nobody expects, where nothing depends on
// them.
func (o *odd) otherTypes() {
	o.reply["id"], o.reply["created"], o.reply["usage"] = 7, "yesterday", []any{}
	o.choice["index"], o.choice["logprobs"] = "0", 1e300
	o.message["refusal"], o.message["annotations"] = nil, map[string]any{"a": nil}
}

// keptAlive puts before the body what keeps connections alive.
func (o *odd) keptAlive() { o.before = "\xef\xbb\xbf\n\n: still working\n\n" }
