package verify

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"hermes-batch/db"
	"hermes-batch/export"
	"hermes-batch/testdata/figures"
)

// BenchmarkCopy compares the rendering of trajectories.parquet from a store, on
// one core, with DuckDB's COPY of the same rows from JSONL, on one thread, in
// turns: MB of JSONL a second, and the ratio of both.
func BenchmarkCopy(b *testing.B) {
	const rows, size = 5000, 2000
	rng := rand.New(rand.NewPCG(1, 1))
	r := newRun(b, "terminal", "file")
	r.numbered(rows)
	stats := map[string]db.ToolStat{"terminal": {Count: 2, Success: 2}}
	var last *db.Commit
	for i := range rows {
		last = r.finish(db.MakeOrdinal(i, 0), db.Outcome{ToolStats: stats},
			gpt(prose(rng, size), prose(rng, size/2), call("a", "terminal", `{"command":"ls -la"}`)), result(0, "a", "terminal", prose(rng, size)),
			gpt(prose(rng, size), "", call("b", "terminal", `{"command":"ls -la"}`)), result(0, "b", "terminal", prose(rng, size)),
			gpt(prose(rng, size), prose(rng, size/2)))
	}
	r.must(last.Wait(context.Background()))
	r.render(rows)
	lines := filepath.Join(r.dir, "trajectories.jsonl")
	info, err := os.Stat(lines)
	r.must(err)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var results figures.Results
	results.Commit = figures.Commit(context.Background())
	results.Begin("duckdb", "make verify VERIFY='-run=- -bench=. -benchtime=5x -args -json=../figures/verify.json'")
	var ours, theirs time.Duration
	for b.Loop() {
		our := timed(b, func() error {
			c := export.Copy{Out: filepath.Join(b.TempDir(), "out"), Args: []string{"--format=parquet"}}
			return c.Write(io.Discard, func(w io.Writer) error { return export.Stream(context.Background(), r.store, c.Args, w) })
		})
		their := timed(b, func() error {
			to := filepath.Join(b.TempDir(), "copy.parquet")
			return query("SET threads=1; COPY (FROM read_json("+quote(lines)+")) TO "+quote(to)+" (FORMAT parquet, COMPRESSION zstd)",
				func([]string, []any) error { return nil })
		})
		ours, theirs = ours+our, theirs+their
		addCopy(&results, float64(info.Size())/1e6, our, their)
	}
	total := float64(info.Size()) * float64(b.N) / 1e6
	b.ReportMetric(total/ours.Seconds(), "MB/s")
	b.ReportMetric(total/theirs.Seconds(), "DuckDB-MB/s")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "ratio")
	if *kept != "" {
		machine, err := figures.ReadMachine(b.TempDir())
		r.must(err)
		r.must(figures.Report{Machine: machine, Programs: []string{figures.This}, Figures: results.Figures()}.Merge(*kept))
	}
}

// addCopy adds what the copying of so many MB of JSONL took.
func addCopy(r *figures.Results, size float64, ours, theirs time.Duration) {
	for _, m := range []struct {
		name, what, unit string
		target           figures.Target
		value            float64
	}{
		{"ParquetCopy", "Parquet on one core, bytes of JSONL", "MB/s", figures.More(), size / ours.Seconds()},
		{"ParquetDuckDB", "  DuckDB's COPY from that JSONL on one thread", "MB/s", figures.More(), size / theirs.Seconds()},
		{"ParquetRatio", "Parquet on one core ÷ DuckDB's COPY from the same JSONL", "ratio", figures.AtLeast(0.4), theirs.Seconds() / ours.Seconds()},
	} {
		r.Add(figures.This, figures.Metric{Name: m.name, What: m.what, Unit: m.unit, Target: m.target}, m.value)
	}
}

func timed(b *testing.B, fn func() error) time.Duration {
	began := time.Now()
	if err := fn(); err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}
