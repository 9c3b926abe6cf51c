package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hermes-batch/db"
	"hermes-batch/testdata/machine"
)

// childVariable makes the test binary a program that makes one run under the
// options that the variable holds.
const childVariable = "HERMES_ENGINE_TEST_CHILD"

func childMain(text string) int {
	o := &Options{}
	if err := json.Unmarshal([]byte(text), o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if err := childRun(o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func childRun(o *Options) error {
	folder, err := o.Folder()
	if err != nil {
		return err
	}
	store, err := folder.Find(o, db.Options{})
	if err != nil {
		return err
	}
	r, err := Start(context.Background(), o, folder, store, Deps{Sleep: nap})
	if err != nil {
		return err
	}
	end := r.Work(context.Background())
	return errors.Join(end, r.Close(end))
}

// child is a run in a process of its own.
type child struct {
	t    *testing.T
	cmd  *exec.Cmd
	once sync.Once
}

func (b *bench) child(change ...func(*Options)) *child {
	b.t.Helper()
	raw, err := json.Marshal(b.options(change...))
	if err != nil {
		b.t.Fatal(err)
	}
	c := &child{t: b.t, cmd: exec.CommandContext(b.t.Context(), os.Args[0])}
	c.cmd.Env = append(os.Environ(), childVariable+"="+string(raw))
	c.cmd.Stderr = os.Stderr
	if err := c.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	return c
}

// kill ends the process as the kernel does when memory is short. Safe to call
// more than once.
func (c *child) kill() {
	c.once.Do(func() {
		if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			c.t.Error(err)
		}
		c.cmd.Wait()
	})
}

// committed lists the model turns in the store, as the scripted model counts
// them.
func (b *bench) committed() (turns []string) {
	b.t.Helper()
	if !there(storeFile()) {
		return nil
	}
	b.read(func(s *db.Store) {
		checkStore(b.t, s)
		next, err := s.NextIndex()
		if err != nil {
			b.t.Fatal(err)
		}
		for index := range next {
			p, err := s.Prompt(index)
			if err != nil {
				b.t.Fatal(err)
			}
			for n := range records[*db.Turn](b.t, s, index) {
				turns = append(turns, fmt.Sprintf("%s/%d", p.Text, n))
			}
		}
	})
	return turns
}

// Any number of kills at any time loses no committed turn and asks for none
// twice, and the rows are those of an undisturbed run.
func TestKilledAgainAndAgain(t *testing.T) {
	const prompts, turns, workers = 4, 5, 2
	reply := func(a ask) (int, string) {
		switch {
		case a.Turn == turns-1:
			return says("done: " + strings.Join(a.Results, " "))
		case a.Turn%2 == 0:
			return calls("calculator", fmt.Sprintf(`{"expression":"%d+1"}`, a.Turn), "terminal", fmt.Sprintf(`{"command":"cat ../log; echo %d >> ~/log; mkdir d; cd d; cat ~/log; export A=$A%d; echo $A"}`, a.Turn, a.Turn))
		}
		return calls("read_file", `{"path":"missing"}`, "calculator", `{"expression":"1/3"}`)
	}
	var texts []string
	for i := range prompts {
		texts = append(texts, fmt.Sprint("prompt ", i))
	}
	clean := newBench(t, reply)
	clean.prompts(texts...)
	clean.mustRun()
	var want [][]string
	var facts []db.Outcome
	for i := range prompts {
		want = append(want, clean.talk(i))
		facts = append(facts, clean.outcome(i))
	}

	random := rand.New(rand.NewPCG(1, uint64(os.Getpid())))
	kills := 12
	if testing.Short() {
		kills = 4
	}
	var c *child
	var countdown int // requests until the kill; 0: after the reply
	var mu sync.Mutex
	b := newBench(t, func(a ask) (int, string) {
		mu.Lock()
		defer mu.Unlock()
		if countdown--; countdown == 0 {
			time.AfterFunc(time.Duration(random.IntN(15))*time.Millisecond, c.kill)
		}
		return reply(a)
	})
	b.prompts(texts...)
	frozen := map[string]int{} // committed turn → times asked until then
	for range kills {
		mu.Lock()
		countdown = 1 + random.IntN(4)
		c = b.child(resume, func(o *Options) { o.Workers = workers })
		mu.Unlock()
		c.cmd.Process.Wait() // killed, or finished before that
		c.kill()
		for _, turn := range b.committed() {
			if _, known := frozen[turn]; !known {
				frozen[turn] = b.timesAsked(turn)
			}
		}
	}
	countdown = 0
	b.mustRun(resume)
	b.wantEnds(slices.Repeat([]string{answered}, prompts)...)
	for turn, n := range frozen {
		if now := b.timesAsked(turn); now != n {
			t.Errorf("turn %s was committed and asked for again", turn)
		}
	}
	if extra := b.model.count() - prompts*turns; extra > kills*workers {
		t.Errorf("%d requests more than in a clean run, after %d kills of %d workers", extra, kills, workers)
	}
	for i := range prompts {
		out := b.outcome(i)
		if got := b.talk(i); !slices.Equal(got, want[i]) && out.ToolReruns == 0 {
			t.Errorf("prompt %d:\n%s\nwant\n%s", i, strings.Join(got, "\n"), strings.Join(want[i], "\n"))
		}
		if f := facts[i]; out.APICalls != turns || out.Attempts != 1 || out.Usage != f.Usage || out.Spent != f.Spent || out.Tries != f.Tries ||
			out.ReasonedTurns != f.ReasonedTurns || !maps.Equal(out.ToolStats, f.ToolStats) {
			t.Errorf("outcome\n%+v\nwant\n%+v", out, f)
		}
	}
	if left := folders(t); len(left) > 0 {
		t.Errorf("folders %q are left", left)
	}
}

func (b *bench) timesAsked(key string) int {
	b.model.mu.Lock()
	defer b.model.mu.Unlock()
	return b.model.asked[key]
}

// A prompt that was registered and never begun is plain pending work, one that
// died in mid-turn goes on from there; nothing but the lock says that they run.
func TestKilledInATurn(t *testing.T) {
	for _, c := range []struct {
		name string
		turn int
		want int // requests in all
	}{
		{"before the first reply", 0, 1 + 3},
		{"in the second turn", 1, 2 + 2},
		{"in the last turn", 2, 3 + 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			reached := make(chan bool, 1)
			first := true
			b := newBench(t, func(a ask) (int, string) {
				if a.Turn == c.turn && first {
					first = false
					reached <- true
					<-a.Gone
				}
				if a.Turn < 2 {
					return adds()
				}
				return says("done")
			})
			b.prompts("a")
			killed := b.child()
			<-reached
			if c.turn == 0 {
				if err := b.run(t.Context(), resume); !errors.Is(err, db.ErrLocked) {
					t.Errorf("a second writer got %v", err)
				}
			}
			killed.kill()
			b.wantEnds("")
			b.read(func(s *db.Store) {
				if last, _, err := s.LastLaunch(); err != nil || last.End != "" {
					t.Errorf("the session that was killed ended as %q (%v)", last.End, err)
				}
			})
			b.mustRun(resume)
			b.wantEnds(answered)
			b.model.wantCount(c.want)
			b.model.wantOnce()
		})
	}
}

// A command outlives the program that started it, and the resume takes its
// result; only if its supervisor died too it is run again, and the row says so.
func TestKilledDuringACommand(t *testing.T) {
	for _, c := range []struct {
		name       string
		supervisor bool // is killed as well
		wait       string
		reruns     int
	}{
		{"alone", false, `until [ -e ~/go ]; do sleep 0.02; done`, 0},
		{"with its supervisor", true, `[ -e ~/go ] || { sleep 600; exit; }`, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, func(a ask) (int, string) {
				switch a.Turn {
				case 0:
					return shell("mkdir d; cd d; export A=b")
				case 1:
					return shell("touch ~/begun; " + c.wait + "; echo once >> log; echo $A")
				case 2:
					return shell("cat log; echo $A")
				}
				return says(strings.Join(a.Results, " "))
			})
			b.prompts("a")
			killed := b.child()
			var work string
			for work == "" {
				if found, _ := filepath.Glob("state/*/0-0-a0/work/begun"); len(found) > 0 {
					work = filepath.Dir(found[0])
				}
				time.Sleep(5 * time.Millisecond)
			}
			if c.supervisor {
				killSupervisor(t, killed.cmd.Process.Pid)
			}
			killed.kill()
			goOn := func() { writeFile(t, filepath.Join(work, "go"), "") }
			if c.supervisor {
				goOn()
			} else {
				time.AfterFunc(200*time.Millisecond, goOn)
			}
			b.mustRun(resume)
			b.wantEnds(answered)
			b.model.wantCount(4)
			b.model.wantOnce()
			talk := b.talk(0)
			if last := talk[len(talk)-1]; !strings.Contains(last, `once\\nb\\n`) || strings.Count(last, "once") != 1 {
				t.Errorf("the model was told %s", last)
			}
			if out := b.outcome(0); out.ToolReruns != c.reruns || out.Attempts != 1 || out.ToolStats["terminal"] != (db.ToolStat{Count: 3, Success: 3}) {
				t.Errorf("outcome %+v", out)
			}
		})
	}
}

// A call that only looks at a background process is run again without a mark.
func TestKilledDuringAWait(t *testing.T) {
	asked := make(chan bool, 1)
	b := newBench(t, func(a ask) (int, string) {
		switch a.Turn {
		case 0:
			return calls("terminal", `{"command":"until [ -e ~/go ]; do sleep 0.02; done; echo over","background":true}`)
		case 1:
			asked <- true
			var started struct {
				ID string `json:"session_id"`
			}
			if err := json.Unmarshal([]byte(a.Results[0]), &started); err != nil {
				t.Error(err)
			}
			return calls("process", fmt.Sprintf(`{"action":"wait","session_id":%q}`, started.ID))
		}
		return says(strings.Join(a.Results, " "))
	})
	b.prompts("a")
	killed := b.child()
	<-asked
	supervisors := children(t, killed.cmd.Process.Pid)
	if len(supervisors) != 1 {
		t.Fatalf("supervisors %v", supervisors)
	}
	for sockets(t, supervisors[0]) < 2 { // where it listens, and whom it answers
		time.Sleep(5 * time.Millisecond)
	}
	killed.kill()
	work, err := filepath.Glob("state/*/0-0-a0/work")
	if err != nil || len(work) != 1 {
		t.Fatalf("work folders %q, %v", work, err)
	}
	writeFile(t, filepath.Join(work[0], "go"), "")
	b.mustRun(resume)
	b.wantEnds(answered)
	b.model.wantOnce()
	talk := b.talk(0)
	if last := talk[len(talk)-1]; !strings.Contains(last, `"output\":\"over`) {
		t.Errorf("the model was told %s", last)
	}
	if out := b.outcome(0); out.ToolReruns != 0 || out.Attempts != 1 || out.ToolStats["process"] != (db.ToolStat{Count: 1, Success: 1}) {
		t.Errorf("outcome %+v", out)
	}
}

// sockets counts those that a process has open.
func sockets(t *testing.T, pid int) (n int) {
	t.Helper()
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(fds) == 0 {
		t.Fatalf("the descriptors of process %d: %v", pid, err)
	}
	for _, fd := range fds {
		if link, _ := os.Readlink(fd); strings.HasPrefix(link, "socket:") {
			n++
		}
	}
	return n
}

// killSupervisor kills the children of a process.
func killSupervisor(t *testing.T, pid int) {
	t.Helper()
	supervisors := children(t, pid)
	if len(supervisors) == 0 {
		t.Fatal("no supervisor to kill")
	}
	for _, pid := range supervisors {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
}

func children(t *testing.T, pid int) (pids []int) {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil || len(tasks) == 0 {
		machine.Lacks(t, "the kernel does not list the children of a process")
	}
	for _, task := range tasks {
		list, _ := os.ReadFile(task)
		for _, word := range strings.Fields(string(list)) {
			child, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, child)
		}
	}
	return pids
}

// A program that died between an outcome and the removal of its work folder
// leaves the folder to the next start.
func TestLeftOverFoldersAreSwept(t *testing.T) {
	b := newBench(t, func(a ask) (int, string) {
		if a.Turn == 0 && a.Prompt != "c" {
			return shell("echo x > f")
		}
		if a.Prompt == "b" {
			return broken(400, "bad")
		}
		return says("done")
	})
	b.prompts("a", "b")
	b.mustRun(func(o *Options) { o.KeepSandboxes = "always" })
	if left := folders(t); !slices.Equal(left, []string{"0-0-a0", "1-0-a0"}) {
		t.Fatalf("folders %q", left)
	}
	foreign := filepath.Join(filepath.Dir(b.workFolder(0, 0)), "notes")
	if err := os.Mkdir(foreign, 0o777); err != nil {
		t.Fatal(err)
	}
	b.prompts("a", "b", "c")
	b.mustRun(resume, func(o *Options) { o.RetryFailed = "none" })
	if left := folders(t); !slices.Equal(left, []string{"1-0-a0", "notes"}) {
		t.Errorf("folders %q, want those of the failed prompt and of others", left)
	}
}

// Background processes of a session that a killed program left end with the
// session, also if the resume needs no sandbox any more.
func TestKilledWithBackgroundProcess(t *testing.T) {
	for _, committed := range []bool{false, true} { // the answer, before the kill
		t.Run(fmt.Sprint("answer committed ", committed), func(t *testing.T) {
			reached := make(chan bool, 1)
			first := true
			b := newBench(t, func(a ask) (int, string) {
				if a.Turn == 0 {
					return shell("sleep 300 >/dev/null 2>&1 & echo $! > pid")
				}
				if first {
					first = false
					reached <- true
					<-a.Gone
				}
				return says("done")
			})
			b.prompts("a")
			killed := b.child()
			<-reached
			pid := backgroundProcess(t)
			killed.kill()
			if committed {
				b.commit(&db.Turn{Entry: db.Entry{From: "gpt", Value: "done"}, Finish: "stop", Tries: 1})
			}
			b.mustRun(resume)
			b.wantEnds(answered)
			if left := folders(t); len(left) > 0 {
				t.Errorf("folders %q are left", left)
			}
			if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !strings.Contains(string(status), ") Z ") {
				t.Errorf("the background process still runs: %s", status)
				syscall.Kill(pid, syscall.SIGKILL)
			}
		})
	}
}

// backgroundProcess is the process whose number the first prompt has written.
func backgroundProcess(t *testing.T) int {
	t.Helper()
	found, _ := filepath.Glob("state/*/0-0-a0/work/pid")
	if len(found) != 1 {
		t.Fatalf("work folders with a pid: %q", found)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || syscall.Kill(pid, 0) != nil {
		t.Fatalf("the background process %q does not run: %v", text, err)
	}
	return pid
}

// commit adds records to the first prompt's session while no run goes on.
func (b *bench) commit(recs ...db.Record) {
	b.t.Helper()
	s, err := db.Open(storeFile(), db.Options{})
	if err != nil {
		b.t.Fatal(err)
	}
	log, err := s.Log(0)
	if err != nil {
		b.t.Fatal(err)
	}
	err = log.Append(recs...).Wait(context.Background())
	if err := errors.Join(err, s.Close()); err != nil {
		b.t.Fatal(err)
	}
}
