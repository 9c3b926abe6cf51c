package sandbox

import (
	"os"
	"testing"
)

// TestMain makes the test binary what the program's binary is: its own supervisor.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == SuperviseArg {
		os.Exit(Supervise())
	}
	os.Exit(m.Run())
}
