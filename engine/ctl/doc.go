// Package ctl is the socket over which a run in progress answers questions.
//
// The process that runs has the store to itself, so nobody else can open it.
// It therefore serves verbs on a Unix socket whose path the store announces
// beside itself, and a command that finds the store locked asks there instead:
//
//	command                               the run
//	db.Open ─► *db.LockedError
//	  .Socket ──► Call(verb, args) ─────► Serve: Verb(ctx, store, args, w)
//	stdout ◄───── output, piece by piece ◄── w
//	error  ◄───── end: exit code, text  ◄── error
//
// A Verb is the function that the command itself would run on a store that
// nobody holds; as a closure it can also know figures that only the run has.
//
// Only the run's own user and root are answered. The socket has mode 0600 and
// lies in a folder of mode 0700 with a short path, whatever the path of the
// store is, since socket paths end at 108 bytes.
//
// The run comes first: callers are bounded in number, a request must arrive
// soon, and a caller that stops reading loses its connection. A verb must not
// write while it is in a transaction of the store, must only read, and must
// return soon after its context is cancelled, which also happens when the
// caller hangs up.
//
// One connection carries one request, a JSON object in one line, and its
// answer in frames: a byte for the kind, four for the length in big endian,
// and that many bytes. Frames are "b" (begun, empty), "o" (output) and "e"
// (end, a JSON object), so that an answer that was cut is told from one that
// is whole.
//
// Of this module's packages it imports db only.
package ctl
