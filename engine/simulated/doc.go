// Package simulated is the model that is built into the program: an
// OpenAI-compatible chat model that needs no key, no network and no server.
// It makes the first command work on a fresh machine, serves as a dry run
// before money is spent, and drives tests and benchmarks.
//
// A Server is an http.Handler with POST /v1/chat/completions (plain, or
// server-sent events with "stream": true), GET /v1/models and, if it counts,
// GET /stats. Transport serves the same in process, without a socket. The
// package imports nothing of the program.
//
// # What it can do
//
// It reasons in most turns and calls those of the tools calculator, terminal,
// read_file and write_file that the request offers:
//
//	arithmetic  "What is 17 * 23?", "15% of 240", "the sum of the numbers from 1 to 100", "…, then divide the result by 8"
//	programs    "Write a script that …": writes and runs one that it knows; Python stubs as in HumanEval
//	files       "Create notes.txt with …", "replace 'a' with 'b'", "read it": works, and reads back what it wrote
//	shell       "Run `cmd`", "How many files are here?"
//
// To all else it says what it is and that it does not know. It never makes up
// a result: a tool that fails gets a second try where one makes sense, and
// what did not work is in the answer. Its replies name the model "simulated"
// whatever the request calls it.
//
// # How it stays stateless
//
// A reply is a function of the request. The prompt (the last user message that
// is more than "continue") decides on a task, and the task is played from its
// beginning against the tool results that the request holds; the first step
// without a result is the reply:
//
//	request ─► marks ─► plan ─► task ─► replay ─► move ─► completion
//
// Ids are hashes of the prompt and the number of the turn. Three things depend
// on more: the rate limit on the time, the failures of Options.Fail on how
// often a turn was tried, and [empty-first] on whether the same turn had its
// empty reply. The last two are forgotten when the turn is answered.
//
// # Markers
//
// Words in square brackets anywhere in a prompt show how else a conversation
// can end; Markers describes them: [no-reasoning], [unknown-tool],
// [unknown-tool-loop], [bad-arguments], [max-turns], [parallel],
// [empty-first], [empty], [reasoning-only], [refuse], [cut], [long N],
// [slow N] and [error N].
//
// # Caveats
//
// It reads the first 4 KB of a prompt to understand it. It takes turns of
// another model in the request for its own. Tokens are estimated, four bytes
// each.
package simulated
