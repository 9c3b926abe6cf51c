package export

import "errors"

// ErrWrite is returned when an output file could not be written, for example
// because the disk is full. The error names the file, whose old content stays.
var ErrWrite = errors.New("cannot write output file")

// ErrRefused is returned for an export that cannot be made as it was asked for,
// because no folder is named, or one that holds other things.
var ErrRefused = errors.New("cannot export")

// errTouched is returned when a file that was being written is not the one that
// lies under its temporary name any more.
var errTouched = errors.New("somebody has changed or replaced its temporary file")

// errGarbled is returned for an export that was not written by Stream.
var errGarbled = errors.New("not understood")
