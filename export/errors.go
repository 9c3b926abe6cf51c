package export

import "errors"

// ErrWrite is returned when an output file could not be written, for example
// because the disk is full. The error names the file, whose old content stays.
var ErrWrite = errors.New("cannot write output file")
