// Package engine runs prompts through a tool-calling agent and commits every
// step to the store.
//
//	dataset file ─► scan, plan ─► feed ─► workers: session ─► outcome
//	                    │                   │    ▲
//	                    ▼                   ▼    │ results
//	                   db  ◄── commit ── turn ─► tools
//
// A session is a fold over its committed steps: apply is the only function
// that changes it, whether a step was just committed or read back after a
// crash. So a resumed session continues as if nothing had happened, and its
// facts equal those of an uninterrupted one.
//
// What waits for a commit: a turn before its tools run and before the next
// request; a result before the next call that is not read-only; an outcome
// before its sandbox is removed and its worker takes the next prompt. At most
// one call per worker can therefore be in flight at a crash. All of a result
// that is too long to be shown is stored before the result that names it.
//
// A stop has two stages: first nothing new begins and calls in flight may
// finish, then, after a grace, they are cut off without a result.
//
// The package may import db, tools and tools/sandbox, engine/model and
// engine/flags. Output files are rendered by package export, which main plugs
// in through Deps.
package engine
