// Package power simulates power cuts of the unmodified program. It records what
// the binary does to a folder, works out what the disk may hold after a cut at
// each moment, and looks at such states: does the store open, and is everything
// there that somebody outside had been given reason to rely on?
//
//	binary under strace ─► calls ─► operations and syncs ─► states ─► judge ─► Report
//	        │                                                 │
//	        └────────► what was seen outside: promises ───────┘
//
// [Run] does all of it. Without strace it returns [ErrNoStrace]. It takes no
// privileges, and not more of the disk than some copies of a small store.
//
// # Recording
//
// strace writes every call that changes files below the folder in which the
// program runs, with the bytes, in the order in which threads entered calls and
// came back from them. That order is causal: what a thread does because of
// another thread's call stands below that call. The operations are replayed
// against an empty folder, and the result has to equal the files that are really
// there; so nothing was missed or misread. bbolt maps its file to read alone; a
// mapping of a recorded file that can be written is an error, since it leaves no
// trace.
//
// # The disk
//
//   - A sync of a file makes durable what was done to that file before the sync
//     began; one of a folder, the names in it. Both count from when the call
//     returned. A name is durable by a sync of its folder alone, never by one of
//     the file, nor by one of a folder below.
//   - What no sync covers may be on the disk or not, in any combination: writes
//     as a whole or in sectors of 512 bytes; lost writes that made the file
//     longer all the same, with zeros; truncations and names.
//   - A rename happens or does not. Changes of one name keep their order.
//   - The disk keeps what it acknowledged, and nothing else changes.
//
// Each moment at which something can change is a point, and has as many states
// as are asked for and different: all that is open kept, all dropped, names
// without content, content without names, in order with the last write torn, and
// random subsets with and without torn writes. The same recording, seed and
// number of states give the same states with the same numbers.
//
// The work folders of sessions are not recorded; in all states they are gone.
// The program syncs nothing in them.
//
// # Promises
//
// What counts as promised is what could be seen, with its line in the recording:
//
//	a request to the model         the turns in it
//	the first connection           all rows are registered and planned
//	a request for a new prompt     an outcome for each prompt that a worker must have left
//	a call's file in a sandbox     the turn that asked for it, the results of the calls before it
//	the removal of a sandbox       the prompt's outcome
//	a line on stderr               that failure, that many outcomes
//	the summary, the exit          all outcomes, all rendered files in their newest form
//
// Beside that, each store that is there opens and passes a deep check, and a
// rendered file has, under its name, the bytes that it was meant to have at some
// time since it was last synced, never others. A panic or a hang is a violation.
// Some states of each phase are put on the disk for the program itself: it
// checks the store, goes on (or starts, if no store is there), and its rows have
// to equal those of a run without interruption.
//
// # Controls
//
// The main recording is judged again as if no sync had been called, and as if
// no folder had been synced. Both have to give violations, or the rest says
// nothing.
package power
