package model

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
	"strconv"
)

// The request hash is sha256 over fields, each written as its length (uint64,
// big endian) and its bytes:
//
//	"request/1"
//	model
//	tools              the array's bytes as given, empty if none
//	sampling           a nested list of fields: name, value, name, value … of
//	                   those that are set, in this order: max_tokens (decimal),
//	                   reasoning (its bytes), reasoning_effort
//	copy, rollout      decimal, two fields
//
// and then one field per message, itself a list of fields: role, content,
// reasoning, tool_call_id, name, and for each tool call id, name, arguments.
//
// Key, URL, routing and the field in which reasoning travels are not part of
// it: the same question to another place has the same hash.
const requestTag = "request/1"

func newRequestHash(p Params) hash.Hash {
	h := sha256.New()
	var sampling []byte
	option := func(name, value string) {
		if value != "" {
			sampling = appendField(appendField(sampling, name), value)
		}
	}
	if p.MaxTokens > 0 {
		option("max_tokens", strconv.Itoa(p.MaxTokens))
	}
	option("reasoning", string(p.Reasoning))
	option("reasoning_effort", p.ReasoningEffort)

	writeField(h, requestTag)
	writeField(h, valid(p.Model))
	writeField(h, string(p.Tools))
	writeField(h, string(sampling))
	writeField(h, strconv.Itoa(p.Copy))
	writeField(h, strconv.Itoa(p.Rollout))
	return h
}

func hashMessage(h hash.Hash, m Message) {
	fields := make([]string, 0, 5+3*len(m.ToolCalls))
	fields = append(fields, m.Role, m.Content, m.Reasoning, m.ToolCallID, m.Name)
	for _, call := range m.ToolCalls {
		fields = append(fields, call.ID, call.Name, call.Arguments)
	}
	size := 0
	for _, f := range fields {
		size += 8 + len(f)
	}
	writeLength(h, size)
	for _, f := range fields {
		writeField(h, f)
	}
}

// Hash returns the hash of the request that the conversation now makes. Its
// cost does not grow with the conversation.
func (c *Conversation) Hash() [32]byte {
	return [32]byte(c.hash.Sum(nil))
}

func writeField(h hash.Hash, s string) {
	writeLength(h, len(s))
	io.WriteString(h, s)
}

func writeLength(h hash.Hash, n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	h.Write(b[:])
}

func appendField(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...)
}
