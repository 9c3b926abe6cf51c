// Package model is the chat client: it sends a conversation to an
// OpenAI-compatible endpoint and returns one normalised reply, or one
// classified error.
//
//	Conversation ──► gate ──► wire (go-openai) ──► normalise ──► Reply
//	     ▲            ▲           │                    │
//	     │            └─ hold ────┤ classify ◄─────────┘
//	     └──── Append             └─► Error: Transient, Permanent or Fatal
//
// The main types are Endpoint (where requests go and what that place
// understands), Conversation (the messages, each encoded once, and the hash of
// the request), Client (tries, waits for rate limits, time limits) and Reply.
//
// The package imports no other package of this module, and it alone imports
// go-openai, in wire.go. No type of that library appears in an exported
// signature.
//
// Caveats: a request that timed out or whose reply was cut may have been billed
// all the same; what came of it is in Rejected. A Client is safe for concurrent
// use, a Conversation belongs to one goroutine.
package model
