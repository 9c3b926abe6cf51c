package power

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// scenario is a folder in which the program is called several times. The calls
// are recorded together, since what one leaves in the page cache the next one
// finds.
type scenario struct {
	Name        string
	Invocations []invocation
	again       []string // a call that goes on after a cut
	anew        []string // one that starts where no store is
	code        int      // exit code of both
	expected    []string // a call without interruption, whose rows both have to give
	rows        string   // file of the rows, in the recorded folder
	store       string   // the store, in the recorded folder
}

// invocation is a call of the program.
type invocation struct {
	Phase    string // in which it begins
	Args     []string
	Code     int // with which it has to end
	Workers  int
	Rows     int  // of the dataset
	Complete bool // it leaves no prompt without an outcome
	Requests int  // after so many it is interrupted; 0: it is not
}

// The datasets lie beside the recorded folder, in which the program runs.
const (
	workersOfRun = 6
	batchSize    = 6
)

// sizes are the numbers of rows of the scenarios.
type sizes struct {
	first, second, third int // rows of the three datasets of the main scenario
	stop                 int // requests after which its first call is interrupted
	ingest               int
	short, overwritten   int
}

func sizesFor(quick bool) sizes {
	if quick {
		return sizes{first: 12, second: 18, third: 20, stop: 12, ingest: 600, short: 4, overwritten: 3}
	}
	return sizes{first: 48, second: 60, third: 66, stop: 60, ingest: 5000, short: 12, overwritten: 8}
}

// scenarios writes the datasets to dir and returns what is to be recorded.
func scenarios(dir string, quick bool) ([]scenario, error) {
	n := sizesFor(quick)
	for name, rows := range map[string]int{"1": n.first, "2": n.second, "3": n.third, "ingest": n.ingest, "short": n.short, "overwritten": n.overwritten} {
		if err := writeFile(filepath.Join(dir, "data-"+name+".jsonl"), dataset(rows)); err != nil {
			return nil, err
		}
	}
	run := func(data string, more ...string) []string {
		return append([]string{"--dataset_file=" + filepath.Join(dir, "data-"+data+".jsonl"), "--run_name=r",
			"--batch_size=" + strconv.Itoa(batchSize), "--num_workers=" + strconv.Itoa(workersOfRun),
			"--model=simulated", "--distribution=local"}, more...)
	}
	short := []string{"--input", filepath.Join(dir, "data-short.jsonl"), "--output", "out.jsonl", "--model=simulated", "--distribution=local",
		"--num_workers=" + strconv.Itoa(workersOfRun)}
	limit := "--max_samples=12"
	return []scenario{
		{Name: "main", again: run("3", "--resume"), anew: run("3"), code: 1, expected: run("3"), rows: "data/r/trajectories.jsonl", store: "data/r/run.db", Invocations: []invocation{
			{Phase: phaseCreate, Args: run("1"), Code: 130, Workers: workersOfRun, Rows: n.first, Requests: n.stop},
			{Phase: phaseResume, Args: run("2", "--resume"), Code: 1, Rows: n.second, Complete: true},
			{Phase: phaseResume, Args: run("3", "--resume"), Code: 1, Rows: n.third, Complete: true},
			{Phase: phaseExport, Args: []string{"export", "--run_name=r", "--out=copies/r"}, Rows: n.third, Complete: true},
		}},
		{Name: "ingest", again: run("ingest", limit, "--resume"), anew: run("ingest", limit), code: 1, expected: run("ingest", limit), rows: "data/r/trajectories.jsonl", store: "data/r/run.db", Invocations: []invocation{
			{Phase: phaseCreate, Args: run("ingest", "--base_url=http://127.0.0.1:1/v1"), Code: 3, Workers: workersOfRun, Rows: n.ingest},
		}},
		{Name: "short", again: short, anew: short, code: 1, expected: short, rows: "out.jsonl", store: "out.jsonl.run/run.db", Invocations: []invocation{
			{Phase: phaseCreate, Args: short, Code: 1, Workers: workersOfRun, Rows: n.short, Complete: true},
		}},
		{Name: "overwrite", again: run("overwritten", "--resume"), anew: run("overwritten"), code: 1, expected: run("overwritten"), rows: "data/r/trajectories.jsonl", store: "data/r/run.db", Invocations: []invocation{
			{Phase: phaseCreate, Args: run("overwritten"), Code: 1, Workers: workersOfRun, Rows: n.overwritten, Complete: true},
			{Phase: phaseCreate, Args: run("overwritten", "--overwrite"), Code: 1, Workers: workersOfRun, Rows: n.overwritten, Complete: true},
		}},
	}, nil
}

// dataset is rows whose prompts make the embedded model use all kinds of tools,
// one that fails and one bad line.
func dataset(rows int) []byte {
	var data []byte
	for i := range rows {
		row := map[string]any{"prompt": prompt(i), "n": i}
		if i == 2 {
			row["cwd"] = "/this/folder/does/not/exist"
		}
		line, _ := json.Marshal(row) // of strings and numbers
		data = append(append(data, line...), '\n')
	}
	return append(data, "{bad\n"...)
}

func prompt(i int) string {
	switch i % 4 {
	case 0:
		return fmt.Sprintf("What is %d * %d?", i+3, i+7)
	case 1:
		return fmt.Sprintf("Run `echo %d >> log; cat log`.", i)
	case 2:
		return fmt.Sprintf("Create a file named f%d.txt with the lines 'a' and 'b', then append the line 'c' and read it back.", i)
	}
	return fmt.Sprintf("Run `export N=%d; cd /`, then run `echo $N; pwd`.", i)
}

// needsNoSandbox tells whether a prompt is answered without files or commands,
// whose loss would make its attempt begin again.
func needsNoSandbox(prompt string) bool { return len(prompt) > 7 && prompt[:7] == "What is" }

func makeFolder(path string) error { return os.MkdirAll(path, 0o777) }

func writeFile(path string, content []byte) error { return os.WriteFile(path, content, 0o666) }
