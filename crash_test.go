package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-batch/db"
	"hermes-batch/engine/simulated"
)

const (
	crashPrompts = 200
	crashWorkers = 8
	crashKills   = 6
)

// TestKilledRunLosesNothing kills the program with SIGKILL at random moments
// until the run is complete. CRASH_KILLS and CRASH_SEED make it longer or
// repeat it.
func TestKilledRunLosesNothing(t *testing.T) {
	kills := number(t, "CRASH_KILLS", crashKills)
	seed := uint64(number(t, "CRASH_SEED", int(time.Now().UnixNano()&0xffffff)))
	t.Logf("CRASH_KILLS=%d CRASH_SEED=%d", kills, seed)
	random := rand.New(rand.NewPCG(seed, 0))

	calm := newCrashRun(t, crashPrompts)
	calm.start("--run_name=calm").wait(t, 0)

	wild := newCrashRun(t, crashPrompts)
	killed := 0
	for ; killed < kills; killed++ {
		c := wild.start("--run_name=wild", "--resume")
		if c.killAfter(time.Duration(30+random.IntN(max(20, 6000/kills))) * time.Millisecond) {
			break // it was faster
		}
		wild.check("wild")
	}
	wild.start("--run_name=wild", "--resume").wait(t, 0)
	wild.check("wild")

	stats := wild.model.Stats()
	if limit := int64(killed * crashWorkers); stats.AnsweredTwice > limit {
		t.Errorf("%d turns were answered twice, at most %d were in flight at %d kills", stats.AnsweredTwice, limit, killed)
	}
	t.Logf("%d kills, %d turns, %d answered twice", killed, stats.DistinctTurns, stats.AnsweredTwice)
	calmRows, wildRows := calm.rows("calm"), wild.rows("wild")
	if len(calmRows) != len(wildRows) {
		t.Fatalf("%d rows, an uninterrupted run has %d", len(wildRows), len(calmRows))
	}
	for i := range calmRows {
		if calmRows[i] != wildRows[i] {
			t.Errorf("row %d differs from an uninterrupted run's:\n%s\n%s", i, calmRows[i], wildRows[i])
		}
	}
	if a, b := calm.statistics("calm"), wild.statistics("wild"); a != b {
		t.Errorf("statistics differ from an uninterrupted run's:\n%s\n%s", a, b)
	}
}

// crashRun is a folder with a dataset and a model that counts.
type crashRun struct {
	t     *testing.T
	dir   string
	url   string
	model *simulated.Server
}

func newCrashRun(t *testing.T, prompts int) *crashRun {
	t.Helper()
	model, err := simulated.New(simulated.Options{Stats: true, Latency: 5 * time.Millisecond, Jitter: 40 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(model)
	t.Cleanup(server.Close)
	c := &crashRun{t: t, dir: t.TempDir(), url: server.URL + "/v1", model: model}
	var data bytes.Buffer
	for i := range prompts {
		fmt.Fprintf(&data, `{"prompt": %q, "n": %d}`+"\n", crashPrompt(i), i)
	}
	if err := os.WriteFile(filepath.Join(c.dir, "data.jsonl"), data.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return c
}

func crashPrompt(i int) string {
	switch i % 4 {
	case 0:
		return fmt.Sprintf("What is %d * %d?", i+3, i+7)
	case 1:
		return fmt.Sprintf("Run `echo %d >> log; sleep 0.1; cat log`.", i)
	case 2:
		return fmt.Sprintf("Create a file named f%d.txt with the lines 'a' and 'b', then append the line 'c' and read it back.", i)
	}
	return fmt.Sprintf("Run `export N=%d; cd /`, then run `echo $N; pwd`.", i)
}

func (c *crashRun) start(args ...string) *child {
	return startProgram(c.t, c.dir, append([]string{"--dataset_file=data.jsonl", "--batch_size=10", "--model=simulated",
		"--distribution=local", "--base_url=" + c.url, "--work_dir=state", "--num_workers=" + strconv.Itoa(crashWorkers)}, args...)...)
}

// check verifies the store of a run that nobody works on.
func (c *crashRun) check(name string) {
	c.t.Helper()
	path := filepath.Join(c.dir, "data", name, "run.db")
	s, err := db.Open(path, db.Options{ReadOnly: true})
	if os.IsNotExist(err) || err != nil && strings.Contains(err.Error(), db.ErrNotFound.Error()) {
		return // killed before it was created
	}
	if err != nil {
		c.t.Fatal(err)
	}
	defer s.Close()
	report, err := s.Check(c.t.Context(), true)
	if err != nil || report.Found > 0 {
		c.t.Fatalf("check: %v %v", err, report.Problems)
	}
}

var (
	crashTimes = regexp.MustCompile(`"timestamp":"[^"]*"|"tool_reruns":\d+`)
	crashPath  = regexp.MustCompile(`[^"\\ ]*/state/[0-9a-f-]{36}/`)
)

func (c *crashRun) rawRows(name string) []string {
	c.t.Helper()
	raw, err := os.ReadFile(filepath.Join(c.dir, "data", name, "trajectories.jsonl"))
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(raw)), "\n")
}

// rows are the merged rows without what may differ between two runs.
func (c *crashRun) rows(name string) []string {
	c.t.Helper()
	rows := c.rawRows(name)
	for i, row := range rows {
		rows[i] = crashPath.ReplaceAllString(crashTimes.ReplaceAllString(row, ""), "WORK/")
	}
	return rows
}

// statistics are those of the run without its name and times.
func (c *crashRun) statistics(name string) string {
	c.t.Helper()
	raw, err := os.ReadFile(filepath.Join(c.dir, "data", name, "statistics.json"))
	if err != nil {
		c.t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		c.t.Fatal(err)
	}
	for _, key := range []string{"run_name", "completed_at", "duration_seconds", "durations"} {
		delete(all, key)
	}
	out, _ := json.Marshal(all)
	return string(out)
}

// child is the program, started by a test.
type child struct {
	*exec.Cmd
	out  bytes.Buffer
	done chan error
}

// startProgram starts the program (this test binary) in dir.
func startProgram(t *testing.T, dir string, args ...string) *child {
	t.Helper()
	c := &child{Cmd: exec.Command(os.Args[0], args...), done: make(chan error, 1)}
	c.Dir = dir
	c.Env = append(os.Environ(), asProgram+"=1")
	c.Stdout, c.Stderr = &c.out, &c.out
	c.WaitDelay = time.Second
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { c.done <- c.Wait() }()
	t.Cleanup(func() { c.Process.Kill() })
	return c
}

// killAfter kills the program and tells whether it had ended before.
func (c *child) killAfter(d time.Duration) (ended bool) {
	select {
	case <-c.done:
		return true
	case <-time.After(d):
	}
	c.Process.Signal(syscall.SIGKILL)
	<-c.done
	return false
}

// wait expects an exit code.
func (c *child) wait(t *testing.T, code int) string {
	t.Helper()
	select {
	case <-c.done:
	case <-time.After(2 * time.Minute):
		t.Fatalf("the program does not end:\n%s", c.out.String())
	}
	if got := c.ProcessState.ExitCode(); got != code {
		t.Fatalf("exit code %d, expected %d:\n%s", got, code, c.out.String())
	}
	return c.out.String()
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestKilledCommand kills the program in the middle of a command.
func TestKilledCommand(t *testing.T) {
	for _, test := range []struct {
		name       string
		supervisor bool // is killed too
		lines      string
		reruns     string
	}{
		{"its supervisor finishes it", false, "once\n", `"tool_reruns":0`},
		{"with its supervisor", true, "once\n", `"tool_reruns":1`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCrashRun(t, 0)
			shared := filepath.Join(c.dir, "shared")
			if err := os.Mkdir(shared, 0o777); err != nil {
				t.Fatal(err)
			}
			row := fmt.Sprintf(`{"prompt": "Run `+"`echo $$ > pid; sleep 2; echo once >> log`"+`.", "cwd": %q}`, shared)
			if err := os.WriteFile(filepath.Join(c.dir, "data.jsonl"), []byte(row), 0o666); err != nil {
				t.Fatal(err)
			}
			p := c.start("--run_name=r")
			shell := waitForPID(t, filepath.Join(shared, "pid"))
			supervisor := parentOf(t, shell)
			p.Process.Kill()
			<-p.done
			if test.supervisor {
				syscall.Kill(supervisor, syscall.SIGKILL)
			}
			c.start("--run_name=r", "--resume").wait(t, 0)
			log, _ := os.ReadFile(filepath.Join(shared, "log"))
			if string(log) != test.lines {
				t.Errorf("log is %q, expected %q", log, test.lines)
			}
			rows := c.rawRows("r")
			if len(rows) != 1 || !strings.Contains(rows[0], test.reruns) {
				t.Errorf("expected one row with %s: %s", test.reruns, rows)
			}
			c.check("r")
		})
	}
}

func waitForPID(t *testing.T, path string) int {
	t.Helper()
	for range 1000 {
		if raw, err := os.ReadFile(path); err == nil && strings.HasSuffix(string(raw), "\n") {
			pid, _ := strconv.Atoi(strings.TrimSpace(string(raw)))
			return pid
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the command did not start")
	return 0
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	parent, _ := strconv.Atoi(fields[1])
	return parent
}
