// Package db is the store: one bbolt file a run, which holds every prompt, model
// turn, tool result and outcome, and is the truth that all other files of a run
// are rendered from. FORMAT.md beside this file describes its bytes.
//
//	meta        "run", format name and version, batches of the registered prompts
//	settings    fingerprint → canonical settings
//	launches    number → one session of the program over the run
//	prompts     index → content and other keys of a row
//	identities  content hash ‖ copy → index
//	plan        the present dataset: prompt indices in its order, bad lines
//	turns       ordinal ‖ attempt ‖ step → hash, parent, record
//	outcomes    ordinal → how the session ended: a head to scan, and the whole
//	blobs       hash ‖ chunk → what is shared or large
//	scores      reserved: judgements of sessions
//	requests    reserved: request hash → steps that hold replies to it
//
// A prompt is known by its content ([PromptHash]) and copy number; it is
// registered once under an index, and a session is one [Ordinal]: an index and a
// rollout. A session is a chain of steps ([Record], from [Attempt] to [Retry]),
// each with the hash of its payload and of the step before. [Store.Log] appends
// to it, [Store.Thread] reads it back, [Log.Finish] says how it ended ([Outcome]).
//
// # Writing
//
//	Log.Append ─┐  encode, hash, compress      one goroutine
//	Log.Finish ─┼────────► queue ─────────► sort, put, commit, fsync ──► Commit.Wait
//	PutPrompts ─┘     (bounded in bytes)     (whatever waits, as one group)
//
// Nothing is durable before [Commit.Wait] returns nil, or the method that waits
// itself does. Commits become durable in the order in which they were queued.
// The first commit that fails (a full disk, an I/O error) stops the store for
// good: all later ones return its error, [ErrFailed], and [Store.Failed] is
// closed. What was durable by then can still be read. Whether the write that
// failed is in the file shows when it is opened again; it is whole or not there.
//
// # Reading
//
// Reads are short transactions; functions that are given to a scan are called
// outside of them and may write. What is read is verified: [ErrDamaged] names
// the step or value that is not what was written. A value in the file is never
// trusted to be sound, nor are its pages: they are looked at before bbolt,
// which panics at damage, and in goroutines of its own, meets them.
//
// # Caveats
//
// One process at a time has a store open to write, any number may read while
// none does. The lock does not work on all network file systems, nor does sync;
// Open warns. The file grows, in steps of some megabytes, and does not shrink.
// After a crash, Open reads all of it to find its free pages. Timestamps are kept in UTC
// and without monotonic part; empty slices and maps come back as nil.
//
// The package imports none of ours; it alone imports bbolt.
package db
