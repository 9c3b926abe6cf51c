// Package machine is what tests of all packages do where the machine lacks
// something that they need.
package machine

import (
	"os"
	"testing"
)

// Lacks skips a test for want of something on the machine, and fails it where
// CI is set: there everything has to be there.
func Lacks(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}
