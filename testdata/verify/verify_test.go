package verify

import (
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hermes-batch/db"
)

var (
	folder = flag.String("folder", "", "folder of a run to be verified")
	kept   = flag.String("json", "", "file of figures to put those of the benchmark into")
	update = flag.Bool("update", false, "write the golden files anew")
)

func TestFolder(t *testing.T) {
	if *folder == "" {
		t.Skip("no -folder given")
	}
	rows, err := Compare(*folder, "")
	t.Logf("%d rows", rows)
	if err != nil {
		t.Error(err)
	}
}

func TestToolsRun(t *testing.T) { withTools(t).render(9) }

func TestChatRun(t *testing.T) { chat(t).render(3) }

func TestEmptyRun(t *testing.T) {
	r := newRun(t, "terminal")
	r.numbered(2)
	r.render(0)
}

// A column has the type of its first rows in many readers.
func TestToolsComeLate(t *testing.T) {
	const rows = 3000
	r := newRun(t, "terminal")
	r.numbered(rows)
	for i := range rows - 1 {
		r.finish(db.MakeOrdinal(i, 0), db.Outcome{}, gpt("short", ""))
	}
	r.answer(db.MakeOrdinal(rows-1, 0), db.Outcome{Toolsets: []string{"terminal"}, ToolStats: map[string]db.ToolStat{"terminal": {Count: 1, Success: 1}}},
		gpt("", "", call("a", "terminal", `{"command":"ls"}`)), result(0, "a", "terminal", "a"), gpt("b", ""))
	r.render(rows)
}

func TestLongRows(t *testing.T) {
	const long = 30 << 20
	rng := rand.New(rand.NewPCG(1, 1))
	r := newRun(t, "terminal")
	r.numbered(5)
	words := prose(rng, long)
	r.answer(db.MakeOrdinal(0, 0), db.Outcome{}, gpt(words, ""))
	r.answer(db.MakeOrdinal(1, 0), db.Outcome{}, gpt("short", words[:long/2]))
	r.answer(db.MakeOrdinal(2, 0), db.Outcome{}, gpt("", "", call("a", "terminal", `{"s":"`+strings.Repeat("é", long/2)+`"}`)),
		result(0, "a", "terminal", words), gpt("x", ""))
	r.answer(db.MakeOrdinal(3, 0), db.Outcome{}, gpt("short", ""))
	r.answer(db.MakeOrdinal(4, 0), db.Outcome{}, gpt(strings.Repeat("\x00\"", long/8), ""))
	r.render(5)
}

// TestSchema wants the same columns whatever is in them.
func TestSchema(t *testing.T) {
	empty := newRun(t, "terminal")
	empty.numbered(1)
	for name, r := range map[string]*run{"tools": withTools(t), "chat only": chat(t), "empty": empty} {
		r.render(map[string]int{"tools": 9, "chat only": 3}[name])
		for by, reader := range readers {
			got, err := reader.schema(r.parquet())
			r.must(err)
			golden := filepath.Join("testdata", by+".txt")
			if *update {
				r.must(os.MkdirAll(filepath.Dir(golden), 0o755))
				r.must(os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			r.must(err)
			if got != string(want) {
				t.Errorf("%s, read by %s:\n%s\nwant\n%s", name, by, got, want)
			}
		}
	}
}

// TestMetadata wants the version of the schema in every file, and how many
// prompts were pending.
func TestMetadata(t *testing.T) {
	for pending, r := range map[string]*run{"1": withTools(t), "0": chat(t)} {
		r.render(map[string]int{"1": 9, "0": 3}[pending])
		want := map[string]string{"hermes_batch.schema": "1", "hermes_batch.pending": pending}
		for by, reader := range readers {
			got, err := reader.metadata(r.parquet())
			r.must(err)
			if !maps.Equal(got, want) {
				t.Errorf("%s reads %q, want %q", by, got, want)
			}
		}
	}
}

// TestProgram verifies what the program itself writes.
func TestProgram(t *testing.T) {
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "bin", "hermes-batch")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	prompts, err := filepath.Abs("../prompts.jsonl")
	must(err)
	for _, args := range [][]string{
		{"--dataset_file=" + prompts, "--batch_size=10", "--run_name=first", "--model=simulated", "--distribution=local"},
		{"--input=" + prompts, "--output=results.jsonl", "--model=simulated", "--distribution=local"},
	} {
		c := exec.Command(program, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "XDG_STATE_HOME=")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, run := range []struct{ dir, lines string }{
		{filepath.Join(dir, "data", "first"), ""},
		{filepath.Join(dir, "results.jsonl.run"), filepath.Join(dir, "results.jsonl")},
	} {
		if n, err := Compare(run.dir, run.lines); err != nil || n < 20 {
			t.Errorf("%s: %d rows, %v", run.dir, n, err)
		}
	}
}
