package db

import _ "embed"

// dictionary is what small values are compressed against: the shapes of
// replies, records, results and of what models write, the frequent ones last.
// Stores depend on each of its bytes: it never changes. Another one would be
// another codec.
//
//go:embed dictionary.txt
var dictionary []byte
