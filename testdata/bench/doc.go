// Command bench measures the program as a user meets it: whole runs of the
// binary against the embedded model, which is a process of its own so that its
// share of the processor is not taken for the runner's.
//
//	go run ./testdata/bench                     the binary of this tree, in about four minutes
//	go run ./testdata/bench -vs ./old           both in turns, with the ratio of their medians
//	go run ./testdata/bench -only commits       scenarios by name
//	go run ./testdata/bench -long -large        what is published, and a million prompts as well
//	go run ./testdata/bench -json FILE          keep each scenario's figures when it is done
//	go run ./testdata/bench -publish            tables and pictures of BENCHMARKS.md from testdata/figures
//
// It prints the facts of the machine, a table, and lines that benchstat reads
// (one for each sample; with -vs use benchstat -col program). A target is said
// to be met or missed, and nothing fails because of it: figures swing with what
// else the machine does. Only a run that does not do its work is an error.
//
// A scenario is a function in a file of its own, listed in scenarios.go. It
// adds samples under a metric, and the medians of those are the figures:
//
//	scenario ─► call (wall, processor, memory) ─► samples ─► figures ─► table, JSON, lines
package main
