package db

import _ "embed"

// dictionary is what values are compressed against: shapes of replies, records
// and results, and phrases of what models write, the most frequent last. Stores
// depend on each of its bytes, so it never changes: a better one would be
// another codec.
//
//go:embed dictionary.txt
var dictionary []byte
