package export

import (
	"os"
	"testing"

	"hermes-batch/testdata/leak"
)

// TestMain fails if tests leave goroutines or open files behind.
func TestMain(m *testing.M) { os.Exit(leak.Check(m.Run())) }
