// Package export renders a store into the files that users read: batch files,
// merged trajectories in JSONL and Parquet, checkpoint, errors and statistics.
// Nothing is written that was not first read from the store, and no file is
// ever read back as truth: all of them can be deleted and come out the same
// again.
//
//	outcomes ──► Judge ──► row ──► batch_N.jsonl, trajectories.jsonl
//	    │                   ▲ └──► record ──► trajectories.parquet
//	    │      prompt, thread of steps
//	    ├──► ledger ──► checkpoint.json, errors.jsonl   (heads only)
//	    └──► statistics ──► statistics.json, Summary    (decoded outcomes)
//
// A [Renderer] keeps the files of one run up to date. It goes through the
// store in the order of (prompt_index, rollout_index), so the bytes of a file
// depend on the store alone, not on the schedule that filled it: times come
// from the store, maps are written sorted. A file is replaced as a whole by a
// synced temporary one, and only if its bytes differ; one in Parquet is read
// back before. While a run goes on, a pass over the batches that are full runs
// ahead, so that the final rendering finds most of its work done.
//
// A [Copy] is an export into another folder. [Stream] renders for it in the
// process that has the store, which may be a run in progress:
//
//	store ──► Stream ──► socket or pipe ──► Copy.Write ──► files
//
// and no file changes until all of them have come.
//
// The package imports db and no other package of this module, and alone
// imports parquet-go. It only reads the store, in short transactions, and may
// do so while a run writes.
package export
