package tools

import "errors"

// ErrDistributionFile is returned when a file of own distributions cannot be used; the message
// names the file, the distribution and the allowed values.
var ErrDistributionFile = errors.New("distribution file")
