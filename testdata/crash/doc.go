// Command crash torments the program as it is shipped, and says whether
// anything was lost.
//
//	go run ./testdata/crash                    all scenarios, in about five minutes
//	go run ./testdata/crash -only kills -kills 1000
//	go run ./testdata/crash -seed 4711         what is drawn is drawn again
//	go run ./testdata/crash -long              every injection point, more power cuts; takes an hour
//
//	kills      SIGKILL at random moments until a run is complete, and while its files are rendered
//	sequences  the same between each pair of steps of a run, and of its resume
//	inject     at each system call that leaves something behind: death, EIO, ENOSPC
//	full       the disk is full, at many sizes, and then is not
//	limits     of a file's size, of open files, of memory
//	oddities   the program is stopped, run twice, its folder is read-only, renamed, removed, its disk gone
//	power      power cuts, simulated from a recording: see package power
//
// A scenario is a function in a file of its own, listed in scenarios.go. It
// makes sites, each with a run in it, lets something happen to them, and lets
// the run come to its end:
//
//	site ─► program ─► death ─► check --deep ─► witness ─► … ─► resume ─► examine
//	  └──► model (counts)                          │                         │
//	                                       what was committed      the files of a run
//	                                       stays, and is not       that nobody disturbed
//	                                       asked for again
//
// After each death the store is sound, and holds all that it held before: the
// witness remembers. In the end all counts add up, every file is that of an
// undisturbed run (but for times, tool_reruns, and attempts where a sandbox was
// taken away) and what the store renders anew, no command has run twice in one
// sandbox without a record, and nothing is left: no process, no sandbox, no
// temporary file. Where the program ended by itself it said why, and did not
// panic. Any violation is printed with what was done, and makes the exit code 1.
//
// System calls are disturbed by ptrace, since strace counts them for each
// thread alone: the nth sync of a thread is not the nth of the program. That
// needs Linux on amd64. Package power records with strace. The scenarios that mount need root or user namespaces.
// A jump of the clock cannot be given to a program that asks the kernel for the
// time by itself; the tests of package engine have one.
package main
