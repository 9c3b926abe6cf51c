package main

import (
	"os"
	"testing"

	"hermes-batch/testdata/leak"
	"hermes-batch/tools/sandbox"
)

// asProgram makes the test binary behave as the program, so that tests run
// what users run, with the race detector if the test has it.
const asProgram = "HERMES_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	supervisor := len(os.Args) > 1 && os.Args[1] == sandbox.SuperviseArg
	if supervisor || os.Getenv(asProgram) != "" {
		os.Unsetenv(asProgram)
		main()
	}
	os.Exit(leak.Check(m.Run()))
}
