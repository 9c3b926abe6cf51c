package export

import "time"

// State says what a rendering did with a file.
type State string

const (
	Written   State = "written"    // its bytes changed, or it is new
	Unchanged State = "up to date" // its bytes did not change
	Removed   State = "removed"    // a batch's file that no row belongs to any more
	LeftOut   State = "left out"   // not brought up to date, for want of time

	// Earlier is a file in the folder of an export that this one has no part in.
	Earlier State = "of an earlier export, not touched"
)

// File is one output file in a Report.
type File struct {
	Path  string
	State State
	Rows  int   // lines of a JSONL file, 0 for others
	Bytes int64 // size, 0 if it was not rendered
}

// Report is what a rendering did. Files that it did not look at, because
// nothing in them can have changed, are not in it.
type Report struct {
	Files      []File
	Counts     Counts
	Statistics *Statistics // nil after a rendering in the background
	Batches    int         // batches that have rows, whether their files were looked at or not
	LongRows   int         // rows of more than 10 MiB that the renderer has met so far
	Took       time.Duration
}

// longRow is the length in bytes from which on a row is reported: some readers
// of JSONL load blocks of 10 MiB and refuse a line that fills one.
const longRow = 10 << 20

// In returns the files of one state, in the order in which they were rendered.
func (r *Report) In(state State) []File {
	var files []File
	for _, f := range r.Files {
		if f.State == state {
			files = append(files, f)
		}
	}
	return files
}
