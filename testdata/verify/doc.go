// Package verify reads trajectories.parquet with two foreign readers, DuckDB and
// Apache Arrow, and compares it, row by row and value by value, with
// trajectories.jsonl of the same run. It is a module of its own, since DuckDB
// needs cgo and both are large.
//
//	go test                      generated runs, and one of the program itself
//	go test -args -folder=DIR    the run in a folder, too
//	go test -run=- -bench=.      speed against DuckDB's COPY of the same rows; with
//	                             -args -json=FILE kept for BENCHMARKS.md
//
// jsonl.go says what a row of JSONL has to look like as columns, compare.go holds
// what a reader sees against it, and indexes.go the bounds of pages against their
// values; none uses the code that writes the files.
package verify
