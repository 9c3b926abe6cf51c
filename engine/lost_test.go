package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes-batch/db"
)

// removeFolder takes a sandbox away.
func removeFolder(t *testing.T, folder string) {
	if err := os.RemoveAll(folder); err != nil {
		t.Error(err)
	}
}

// A sandbox that vanishes while the run goes on costs the turns since it was
// first used, and nothing before; the conversation knows one sandbox.
func TestSandboxVanishes(t *testing.T) {
	replace := func(t *testing.T, folder string) {
		removeFolder(t, folder)
		if err := os.MkdirAll(filepath.Join(folder, "work"), 0o777); err != nil {
			t.Error(err)
		}
	}
	exchange := func(t *testing.T, folder string) {
		if err := os.WriteFile(filepath.Join(folder, "nonce"), []byte("another\nboot\n"), 0o600); err != nil {
			t.Error(err)
		}
	}
	const read, write = `{"path":"f"}`, `{"path":"f","content":"new\n"}`
	for _, c := range []struct {
		name, tool, arguments string
		lose                  func(*testing.T, string)
		reopened              bool // only a resume takes it for a loss
	}{
		{"a command without folder", "terminal", `{"command":"echo 2 >> f"}`, removeFolder, false},
		{"a command in a new folder", "terminal", `{"command":"echo 2 >> f"}`, replace, false},
		{"a file that is read", "read_file", read, removeFolder, false},
		{"a file that is read in a new folder", "read_file", read, replace, true},
		{"a file that is written", "write_file", write, removeFolder, false},
		{"a file that is written in a new folder", "write_file", write, replace, false},
		{"a folder that is another one", "terminal", `{"command":"echo 2 >> f"}`, exchange, true},
	} {
		for _, between := range []bool{false, true} {
			if c.reopened && !between {
				continue
			}
			t.Run(fmt.Sprintf("%s, between runs %v", c.name, between), func(t *testing.T) {
				interrupt := make(chan bool, 1)
				lost := false
				var b *bench
				b = newBench(t, func(a ask) (int, string) {
					switch a.Turn {
					case 0:
						return calls("calculator", `{"expression":"17*23"}`, "terminal", `{"command":"echo 0 >> f"}`)
					case 1:
						return calls("write_file", `{"path":"f","content":"1\n"}`)
					case 2:
						if !lost {
							lost = true
							if between {
								interrupt <- true
								<-b.now.Load().stop.soft
							} else {
								c.lose(t, b.workFolder(0, 0))
							}
						}
						return calls(c.tool, c.arguments)
					}
					return says(strings.Join(a.Results, " "))
				})
				b.prompts("a", "b")
				one := func(o *Options) { o.MaxSamples = 1 }
				if between {
					b.interruptedRun(interrupt, one)
					c.lose(t, b.workFolder(0, 0))
					b.mustRun(resume, one)
				} else {
					b.mustRun(one)
				}
				b.wantEnds(answered)
				b.model.wantCount(3 + 3)
				for turn, want := range []int{1, 2, 2, 1} {
					if got := b.model.timesAsked("a", turn); got != want {
						t.Errorf("turn %d was asked for %d times, want %d", turn, got, want)
					}
				}
				out := b.outcome(0)
				if out.Attempts != 2 || out.APICalls != 4 || out.Tries != 6 || out.ToolReruns != 0 ||
					out.Usage.CompletionTokens != 4*5 || out.Spent.CompletionTokens != 6*5 {
					t.Errorf("outcome %+v", out)
				}
				b.read(func(s *db.Store) {
					if got := kinds(t, s, 0); got != "attempt turn result attempt sandbox result turn result turn result turn" {
						t.Errorf("steps %q", got)
					}
					if got := records[*db.Attempt](t, s, 0); got[len(got)-1].Reason != attemptLost {
						t.Errorf("attempt %+v", got[len(got)-1])
					}
				})
				if left := folders(t); len(left) > 0 {
					t.Errorf("folders %q are left", left)
				}
			})
		}
	}
}

// A session that gives its answer without the sandbox that is gone needs no
// other.
func TestLostSandboxThatIsNotNeeded(t *testing.T) {
	var b *bench
	b = newBench(t, func(a ask) (int, string) {
		switch a.Turn {
		case 0:
			return shell("echo 0")
		case 1:
			removeFolder(t, b.workFolder(0, 0))
			return adds()
		}
		return says("done")
	})
	b.prompts("a")
	b.mustRun()
	b.wantEnds(answered)
	if out := b.outcome(0); out.Attempts != 1 {
		t.Errorf("outcome %+v", out)
	}
}

// The third loss is a failure, which a resume may try again.
func TestSandboxIsLostThreeTimes(t *testing.T) {
	loses := true
	attempt := 0
	var b *bench
	b = newBench(t, func(a ask) (int, string) {
		if a.Turn == 1 && loses {
			removeFolder(t, b.workFolder(0, attempt))
			attempt++
		}
		if a.Turn < 3 {
			return shell(fmt.Sprintf("echo %d >> f; cat f", a.Turn))
		}
		return says(a.Results[2])
	})
	b.prompts("a", "b")
	one := func(o *Options) { o.MaxSamples = 1 }
	b.mustRun(one)
	b.wantEnds("failed/sandbox_lost/transient")
	b.model.wantCount(1 + 3)
	if out := b.outcome(0); out.Attempts != 3 || out.Tries != 4 || out.Spent.CompletionTokens != 4*5 {
		t.Errorf("outcome %+v", out)
	}
	loses = false
	b.mustRun(resume, one)
	b.wantEnds(answered)
	out := b.outcome(0)
	if out.Attempts != 4 || out.Tries != b.model.count() || out.Spent.CompletionTokens != 5*int64(out.Tries) || b.model.timesAsked("a", 0) != 1 {
		t.Errorf("outcome %+v after %d requests", out, b.model.count())
	}
	if talk := b.talk(0); !strings.Contains(talk[len(talk)-1], `0\\n1\\n2\\n`) {
		t.Errorf("conversation %q", talk)
	}
}

// A folder that a row shares with the world belongs to no session. When it is
// gone nothing can be begun anew: that is a fault of the machine.
func TestSharedFolderVanishes(t *testing.T) {
	for _, between := range []bool{false, true} {
		t.Run(fmt.Sprint("between runs ", between), func(t *testing.T) {
			interrupt := make(chan bool, 1)
			shared := filepath.Join(t.TempDir(), "shared")
			os.Mkdir(shared, 0o777)
			lost := false
			var b *bench
			b = newBench(t, func(a ask) (int, string) {
				switch a.Turn {
				case 0:
					return shell("echo 0 >> f")
				case 1:
					if !lost && between {
						interrupt <- true
						<-b.now.Load().stop.soft
					} else if !lost {
						removeFolder(t, shared)
					}
					lost = true
					return shell("cat f")
				}
				return says(a.Results[1])
			})
			b.dataset(fmt.Sprintf(`{"prompt":"a","cwd":%q}`, shared))
			if between {
				b.interruptedRun(interrupt)
				removeFolder(t, shared)
				b.mustRun(resume)
			} else {
				b.mustRun()
			}
			b.wantEnds("failed/infrastructure/transient")
			b.model.wantCount(2)
			if out := b.outcome(0); !out.SharedCwd || out.APICalls != 2 || out.Attempts != 1 {
				t.Errorf("outcome %+v", out)
			}
			os.Mkdir(shared, 0o777)
			writeFile(t, filepath.Join(shared, "f"), "put back\n")
			b.mustRun(resume)
			b.wantEnds(answered)
			b.model.wantOnce()
			if talk := b.talk(0); !strings.Contains(talk[len(talk)-1], "put back") {
				t.Errorf("conversation %q", talk)
			}
		})
	}
}

// What is kept of a row's own folder does not depend on what commands do to
// their own working folder.
func TestCommandRemovesItsFolder(t *testing.T) {
	b := newBench(t, func(a ask) (int, string) {
		switch a.Turn {
		case 0:
			return shell("mkdir d; cd d; rmdir ../d")
		case 1:
			return shell("pwd; echo x > f")
		}
		return says("done")
	})
	b.prompts("a")
	b.mustRun()
	b.wantEnds(answered)
	if out := b.outcome(0); out.Attempts != 1 || !slices.Equal(folders(t), nil) {
		t.Errorf("outcome %+v, folders %q", out, folders(t))
	}
}

// A store that names a folder of something else as the sandbox of a session, as
// a copied or a hostile one may, does not get it removed.
func TestRecordedFolderOfSomethingElse(t *testing.T) {
	interrupt := make(chan bool, 1)
	first := true
	var b *bench
	b = newBench(t, func(a ask) (int, string) {
		switch {
		case a.Turn == 0:
			return shell("echo x > f")
		case first:
			first = false
			interrupt <- true
			<-b.now.Load().stop.soft
			return calls("read_file", `{"path":"f"}`)
		}
		return says("done")
	})
	b.prompts("a")
	b.interruptedRun(interrupt)
	folder := b.workFolder(0, 0)
	removeFolder(t, folder)
	thesis := filepath.Join(folder, "work", "thesis")
	if err := os.MkdirAll(filepath.Dir(thesis), 0o777); err != nil {
		t.Fatal(err)
	}
	writeFile(t, thesis, "mine")
	b.mustRun(resume, func(o *Options) { o.WorkDir = "elsewhere" })
	b.wantEnds(answered)
	if out := b.outcome(0); out.Attempts != 2 {
		t.Errorf("the sandbox was not lost: %+v", out)
	}
	if text, err := os.ReadFile(thesis); err != nil || string(text) != "mine" {
		t.Errorf("the folder holds %q, %v", text, err)
	}
}
