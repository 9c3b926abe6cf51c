package export

import "errors"

// ErrWrite is returned when an output file could not be written, for example
// because the disk is full. The error names the file, whose old content stays.
var ErrWrite = errors.New("cannot write output file")

// errForked is returned for an outcome whose last step is not in the session's
// present thread any more: the session is being tried again and had to leave
// that step behind. Its row comes back with its next outcome.
var errForked = errors.New("the session has gone on without the steps of its outcome")
