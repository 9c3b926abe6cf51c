package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes-batch/db"
)

// A session whose work folder was not synced before the machine was started anew
// does not go on in it; one that an orderly stop left does.
func TestMachineIsStartedAnew(t *testing.T) {
	for _, c := range []struct {
		name     string
		orderly  bool
		attempts int
	}{{"after a stop", true, 1}, {"after a power cut", false, 2}} {
		t.Run(c.name, func(t *testing.T) {
			interrupt := make(chan bool, 1)
			stopped := false
			var b *bench
			b = newBench(t, func(a ask) (int, string) {
				switch a.Turn {
				case 0:
					return shell("echo kept > f")
				case 1:
					if !stopped {
						stopped = true
						interrupt <- true
						<-b.now.Load().stop.soft
					}
					return shell("cat f")
				}
				return says(strings.Join(a.Results, " "))
			})
			b.prompts("a")
			b.interruptedRun(interrupt)
			restart(t, b.workFolder(0, 0), c.orderly)
			b.mustRun(resume)
			b.wantEnds(answered)
			if out := b.outcome(0); out.Attempts != c.attempts || out.APICalls != 3 {
				t.Errorf("outcome %+v", out)
			}
			b.read(func(s *db.Store) {
				attempts := records[*db.Attempt](t, s, 0)
				if last := attempts[len(attempts)-1]; !c.orderly && last.Reason != attemptLost {
					t.Errorf("attempt %+v", last)
				}
			})
			if left := folders(t); len(left) > 0 {
				t.Errorf("folders %q are left", left)
			}
		})
	}
}

// restart makes a work folder one of an earlier start of the machine, and the
// note about the sync at the end of the program too; a power cut leaves none.
func restart(t *testing.T, folder string, orderly bool) {
	t.Helper()
	edit := func(path string, change func(string) string) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, []byte(change(string(text))), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	edit(filepath.Join(folder, "nonce"), func(s string) string {
		nonce, _, _ := strings.Cut(s, "\n")
		return nonce + "\nbefore\n"
	})
	note := filepath.Join(filepath.Dir(folder), "settled")
	if edit(note, func(string) string { return "before\n" }); !orderly {
		if err := os.Remove(note); err != nil {
			t.Fatal(err)
		}
	}
}
