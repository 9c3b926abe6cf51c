// Command soak lets the program run for a long time, as it is shipped, with all
// at once that can go wrong on the wire and in the tools, and says whether it
// grew, and whether anything was lost or left.
//
//	go run ./testdata/soak                 twenty minutes, and some to bring the run to its end
//	go run ./testdata/soak -time 1m        the same for a look
//	go run ./testdata/soak -kill 5m        the program is killed every five minutes, and resumed
//	go run ./testdata/soak -seed 4711      what is drawn is drawn again
//
//	dataset ─► program ◄──► endpoint: script or embedded model ─► odd forms ─► faults
//	              ▲ │
//	  status,     │ └─► commands that kill, stop, fork, flood, stay, remove
//	  export, ────┘
//	  samples of memory, descriptors, …
//
// What a prompt is about says how it has to end, and what its row has to hold
// (kinds.go). A tenth of the requests meets a fault: the reply is late, in
// pieces, cut, garbled, empty, a page or an error, the connection is reset, or
// nothing comes (faults.go); a tenth of the other replies has a form that comes
// to the same as the usual one (oddities.go); and now and then connections are
// refused. What happens to a request depends on the seed, its prompt, its turn
// and how often it was sent, and on nothing else.
//
// When the time is over the program is told to end, and a last resume tries the
// failed prompts again and brings the run to its end. Then the store is sound,
// all counts add up, every prompt ended as it had to or as the faults that it met
// say, no row is an empty success or holds what is another prompt's, no turn was
// asked for again but those in flight, the files are what the store renders, and
// nothing is left: no process, no socket, no temporary file, no work folder but
// those of failed prompts. Any violation is printed, and makes the exit code 1.
//
// Memory and descriptors are those of one process; with -kill they begin anew
// each time. The last quarter of the time is held against the second one.
package main
