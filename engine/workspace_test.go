package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes-batch/db"
)

// Which work folders are left, by --keep_sandboxes and the prompt's end. That
// of a failed prompt is kept in any case: the retry goes on in it.
func TestWorkFoldersThatStay(t *testing.T) {
	for keep, want := range map[string][]string{
		"never":  {"1-0-a0"},
		"failed": {"1-0-a0"},
		"always": {"0-0-a0", "1-0-a0", "2-0-a0"},
	} {
		t.Run(keep, func(t *testing.T) {
			works := false
			b := newBench(t, func(a ask) (int, string) {
				switch {
				case a.Prompt == "no tools":
					return says("done")
				case a.Turn == 0:
					return shell("echo x > f; (sleep 60 &)")
				case a.Prompt == "fails" && !works:
					return broken(500, "oops")
				case a.Prompt == "too long":
					return adds()
				}
				return says("done")
			})
			b.prompts("done", "fails", "too long", "no tools")
			change := func(o *Options) { o.KeepSandboxes, o.MaxTurns = keep, 3 }
			b.mustRun(change)
			b.wantEnds(answered, "failed/server/transient", "incomplete/max_turns", answered)
			if left := folders(t); !slices.Equal(left, want) {
				t.Errorf("folders %q, want %q", left, want)
			}
			if keep != "never" {
				return
			}
			works = true
			b.mustRun(resume, change)
			if left := folders(t); len(left) > 0 {
				t.Errorf("folders %q are left after the retry", left)
			}
		})
	}
}

// A row's cwd: where its commands start, or why it fails before any call.
func TestCwd(t *testing.T) {
	shared := t.TempDir()
	writeFile(t, filepath.Join(shared, "file"), "x")
	for _, c := range []struct {
		cwd, want string // want: what pwd prints, from its end
		end       string
	}{
		{"", "/0-0-a0/work", answered},
		{"sub/folder", "/0-0-a0/work/sub/folder", answered},
		{".", "/0-0-a0/work", answered},
		{"a/../b", "/0-0-a0/work/b", answered},
		{shared, shared, answered},
		{filepath.Join(shared, "missing"), "", "failed/cwd/permanent"},
		{filepath.Join(shared, "file"), "", "failed/cwd/permanent"},
		{"../other", "", "failed/cwd/permanent"},
		{"a/../../b", "", "failed/cwd/permanent"},
		{strings.Repeat("x", 300), "", "failed/cwd/permanent"},
	} {
		t.Run(c.cwd[:min(20, len(c.cwd))], func(t *testing.T) {
			b := newBench(t, func(a ask) (int, string) {
				if a.Turn == 0 {
					return shell("pwd; echo x > made")
				}
				return says(a.Results[0])
			})
			b.dataset(fmt.Sprintf(`{"prompt":"a","cwd":%q}`, c.cwd))
			b.mustRun()
			b.wantEnds(c.end)
			out := b.outcome(0)
			if c.want == "" {
				if out.Message == "" || out.APICalls != 0 && len(c.cwd) < 300 {
					t.Errorf("outcome %+v", out)
				}
				return
			}
			if talk := b.talk(0); !strings.Contains(talk[len(talk)-1], c.want+`\\n`) {
				t.Errorf("the command ran elsewhere: %s", talk[len(talk)-1])
			}
			if out.SharedCwd != (c.cwd == shared) || out.Isolation != isolationNone {
				t.Errorf("outcome %+v", out)
			}
			if c.cwd == shared && !there(filepath.Join(shared, "made")) {
				t.Error("the shared folder was cleaned up")
			}
		})
	}
}

// One row with a bad folder fails alone.
func TestBadCwdIsOneFailedPrompt(t *testing.T) {
	b := newBench(t, echoes)
	lines := []string{`{"prompt":"bad","cwd":"/dev/null"}`}
	for i := range 9 {
		lines = append(lines, fmt.Sprintf(`{"prompt":"p%d"}`, i))
	}
	b.dataset(lines...)
	b.mustRun()
	b.wantEnds(append([]string{"failed/cwd/permanent"}, slices.Repeat([]string{answered}, 9)...)...)
	b.model.wantCount(9)
}

// One session at a time works in a folder that rows share, under whatever name.
func TestSharedCwdIsUsedByOneAtATime(t *testing.T) {
	var mu sync.Mutex
	inside, most, others := 0, 0, 0
	b := newBench(t, func(a ask) (int, string) {
		mu.Lock()
		if a.Prompt == "other" {
			others++
			mu.Unlock()
			return says("done")
		}
		if inside++; inside > most {
			most = inside
		}
		mu.Unlock()
		time.Sleep(10 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		inside--
		if a.Turn == 0 {
			return shell("[ -e busy ] && echo MIXED; touch busy; sleep 0.02; rm busy")
		}
		return says(a.Results[0])
	})
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i, cwd := range []string{dir, link, dir + "/", dir + "/../" + filepath.Base(dir)} {
		lines = append(lines, fmt.Sprintf(`{"prompt":"p%d","cwd":%q}`, i, cwd), `{"prompt":"other"}`)
	}
	b.dataset(lines...)
	b.mustRun(func(o *Options) { o.Workers = 8 })
	b.wantEnds(slices.Repeat([]string{answered}, 8)...)
	if most != 1 {
		t.Errorf("%d sessions at once", most)
	}
	for i := range lines {
		talk := b.talk(i)
		if strings.Contains(talk[len(talk)-1], "MIXED") {
			t.Errorf("prompt %d met another one", i)
		}
	}
}

// What the sandbox was is in its record.
func TestSandboxRecord(t *testing.T) {
	b := newBench(t, func(a ask) (int, string) {
		if a.Turn == 0 {
			return shell("true")
		}
		return says("done")
	})
	b.prompts("a")
	b.mustRun()
	b.read(func(s *db.Store) {
		boxes := records[*db.Sandbox](t, s, 0)
		if len(boxes) != 1 {
			t.Fatalf("%d sandboxes", len(boxes))
		}
		if box := boxes[0]; box.Kind != "local" || box.Folder != b.workFolder(0, 0) || box.Nonce == "" || box.Boot == "" || box.Isolation != "none" || box.SharedCwd {
			t.Errorf("record %+v", box)
		}
	})
}

func TestOrdinalOfFolder(t *testing.T) {
	for name, want := range map[string]string{
		"0-0-a0": "0 0", "12-3-a45": "12 3", "12-3": "", "12-3-b1": "", "-1-0-a0": "", "x-0-a0": "", "0-x-a0": "", "": "", "notes": "",
	} {
		got := ""
		if ord, ok := ordinalOf(name); ok {
			got = fmt.Sprint(ord.Index(), " ", ord.Rollout())
		}
		if got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

// The work folders of a run lie in a folder of its own, whatever its store says.
func TestWorkFolderOfARun(t *testing.T) {
	o := &Options{WorkDir: "/work"}
	for id, want := range map[string]string{
		"0f8fad5b-d9cb-469f-a165-70867728950e": "/work/0f8fad5b-d9cb-469f-a165-70867728950e",
		"":                                     "", "..": "", "../x": "", "a/b": "", "/etc": "", ".x": "", strings.Repeat("x", 200): "",
	} {
		got, err := workFolder(o, id)
		if got != want || (want == "") != errors.Is(err, db.ErrDamaged) {
			t.Errorf("%q: %q, %v", id, got, err)
		}
	}
}
