package flags

import (
	"slices"
	"testing"
)

func TestStrangers(t *testing.T) {
	environ := []string{"HB_MAX_TURNS=3", "HB_MAX_TURN=7", "HBX=1", "HB_WHATEVER_ELSE=", "PATH=/bin"}
	want := []string{"the variable HB_MAX_TURN sets no flag; did you mean HB_MAX_TURNS?", "the variable HB_WHATEVER_ELSE sets no flag"}
	if got := Strangers(environ, "HB", []string{"max_turns", "model"}); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
