package sandboxtest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hermes-batch/tools/sandbox"
)

// The suite sets this variable before it opens a sandbox; no command may see it.
const (
	canary      = "HERMES_TEST_API_KEY"
	canaryValue = "sk-canary-3f9c1d"
)

// Conformance runs the suite. open returns a new, empty sandbox each time; the
// suite closes it.
func Conformance(t *testing.T, open func(t *testing.T) sandbox.Sandbox) {
	t.Setenv(canary, canaryValue)
	s := suite{open}
	for _, test := range []struct {
		name string
		run  func(*testing.T, *session)
	}{
		{"shell", testShell},
		{"input", testInput},
		{"state", testState},
		{"lost folder", testLostFolder},
		{"output", testOutput},
		{"full output", testFull},
		{"full output bounds", testFullBounds},
		{"full output of a job", testFullJob},
		{"full output refused", testFullRefused},
		{"keep", testKeep},
		{"environment", testEnvironment},
		{"large script", testLargeScript},
		{"timeout", testTimeout},
		{"timeout state", testTimeoutState},
		{"background", testBackground},
		{"cancel", testCancel},
		{"recall", testRecall},
		{"job", testJob},
		{"job input", testJobInput},
		{"job state", testJobState},
		{"job list", testJobList},
		{"job wait", testJobWait},
		{"job output", testJobOutput},
		{"job kill", testJobKill},
		{"job limit", testJobLimit},
		{"terminal", testTerminal},
		{"terminal end", testTerminalEnd},
		{"terminal job", testTerminalJob},
		{"concurrent", testConcurrent},
		{"close", testClose},
		{"close ends commands", testCloseEnds},
		{"files", testFiles},
		{"file names", testFileNames},
		{"odd files", testOddFiles},
	} {
		t.Run(test.name, func(t *testing.T) { s.run(t, test.run) })
	}
}

type suite struct {
	open func(t *testing.T) sandbox.Sandbox
}

func (s suite) run(t *testing.T, test func(*testing.T, *session)) {
	t.Parallel() // most of them mostly wait
	box := s.open(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := box.Close(ctx, true); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	test(t, &session{box: box})
}

// A session numbers its calls, as the engine does.
type session struct {
	box   sandbox.Sandbox
	calls atomic.Int64
}

func (s *session) key() string { return fmt.Sprintf("0-1-%d", s.calls.Add(1)) }

// exec runs a command; an error fails the test.
func (s *session) exec(t *testing.T, c sandbox.Command) sandbox.Result {
	t.Helper()
	if c.Key == "" {
		c.Key = s.key()
	}
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	r, err := s.box.Exec(t.Context(), c)
	if err != nil {
		t.Fatalf("Exec(%.60q): %v", c.Script, err)
	}
	return r
}

// sh runs a script in a new shell and returns its output.
func (s *session) sh(t *testing.T, script string) string {
	t.Helper()
	return string(s.exec(t, sandbox.Command{Script: script}).Output)
}

// alive says which of the pids in a file of the sandbox still run. Zombies
// count as ended.
func (s *session) alive(t *testing.T, file string) string {
	t.Helper()
	out := s.sh(t, `for p in $(cat `+file+`); do [ -e /proc/$p ] && ! grep -q '^State:.[ZX]' /proc/$p/status 2>/dev/null && echo $p; done; true`)
	return strings.TrimSpace(out)
}

// eventually waits for something that happens in another process.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting: %s", what)
		}
	}
}

func exists(f sandbox.Files, name string) func() bool {
	return func() bool {
		_, err := f.Stat(name)
		return err == nil
	}
}
