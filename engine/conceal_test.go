package engine

import (
	"fmt"
	"strings"
	"testing"
)

// A program may be called anything, and the wrong addresses would be written to.
func TestStartOf(t *testing.T) {
	var rest strings.Builder
	for field := 4; field <= 52; field++ {
		fmt.Fprintf(&rest, " %d", field)
	}
	for _, name := range []string{"hermes-batch", "a) b", ") R 1", "((", ""} {
		at, err := startOf([]byte("1 (" + name + ") S" + rest.String() + "\n"))
		if err != nil || at != [4]int64{48, 49, 50, 51} {
			t.Errorf("of %q: fields %d, %v", name, at, err)
		}
	}
	for _, stat := range []string{"", "1 (x) S 4 5", "1 (x) S" + strings.ReplaceAll(rest.String(), " 50", " x"), "1 (x) S" + strings.ReplaceAll(rest.String(), " 48", " 0")} {
		if at, err := startOf([]byte(stat)); err == nil {
			t.Errorf("%q is taken: %d", stat, at)
		}
	}
}

func TestBlankKeys(t *testing.T) {
	for given, want := range map[string]string{
		"prog|run|--api_key=sk-1|--resume|":      "prog|run|--api_key=****|--resume|",
		"prog|-api-key|sk-1|--model|m|":          "prog|-api-key|****|--model|m|",
		"prog|--api_key|--api_key|--api_key=|":   "prog|--api_key|*********|--api_key=|",
		"prog|--api_key=a=b|--api-key||--x|":     "prog|--api_key=***|--api-key||--x|",
		"prog|api_key=x|--run_name=--api_key=x|": "prog|api_key=x|--run_name=--api_key=x|",
		"prog|--api_key_file=x|--|--api_key|":    "prog|--api_key_file=x|--|--api_key|",
		"|":                                      "|",
		"":                                       "",
	} {
		args := []byte(strings.ReplaceAll(given, "|", "\x00"))
		blankKeys(args)
		if got := strings.ReplaceAll(string(args), "\x00", "|"); got != want {
			t.Errorf("%s became %s, want %s", given, got, want)
		}
	}
}

// The variable that tells the processes of a sandbox stays: this program may
// run in another one's.
func TestBlankVariables(t *testing.T) {
	environment := []byte("KEY=sk-1\x00HERMES_BATCH_SANDBOX=n/k/\x00HERMES_BATCH_SANDBOX_X=1\x00\x00A=b\x00")
	blankVariables(environment)
	if got := strings.ReplaceAll(string(environment), "\x00", ""); got != "HERMES_BATCH_SANDBOX=n/k/" {
		t.Errorf("%q is left", got)
	}
}
