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
// # Why so
//
// Measured on 2 cores and ext4. A turn of 4 KB is 9 KB with the reply as it came:
//
//	zstd                  turn      outcome  short result  processor for a turn
//	default               2,290 B   470 B    210 B          50 µs
//	fastest               2,410 B   500 B    270 B          32 µs
//	fastest, dictionary   2,140 B   210 B    110 B          52 µs
//	default, dictionary   2,070 B   190 B    110 B         130 µs
//
// That is for words of chance; a turn of English or code gets smaller by 16 % with
// the dictionary. One that has tables for the codes as well saves 1 to 2 % more.
//
// Sessions of three such turns, 64 of them in flight, whose JSONL has 15.7 KB:
//
//	pages               store     full  written for a turn, 64 writers and 1
//	4 KB, split at ½    13.2 KB   61 %  17 KB and  49 KB
//	8 KB, split at ¾    10.7 KB   75 %  22 KB and  83 KB
//	16 KB, split at ¾   11.7 KB   68 %  34 KB and 147 KB
//
// Two turns do not fit on a page of 4 KB. Sessions that come one after the other
// need 1.6 bytes for one of JSONL with 8 KB split at ½, 0.65 split at 0.9, and
// 0.56 split when full; of sessions that write in turns, full pages make the
// store a sixth larger than 0.9 does. How long a commit takes does not differ.
//
//   - The list of free pages is left out while the store is open. Written with
//     each commit, one long reader made of a file of 17 MB one of 494 MB.
//   - 64 GiB of address space are mapped from the start, since a writer that has
//     to map more waits for readers, and holds up new ones.
//   - A commit takes what waits, without a timer. It is two fdatasyncs: alone it
//     takes half a millisecond, and of 256 writers a hundred share one.
//   - The file grows by 4 MB, as a hole. Zeros written ahead save 15 % of a
//     commit that has only new pages, and most have old ones.
//   - Values of more than 256 KB lie elsewhere, since a put rewrites its page.
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
