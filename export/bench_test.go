package export

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-batch/db"
)

// prose is text that compresses about as well as what models write.
func prose(rng *rand.Rand, size int) string {
	words := strings.Fields(`the a file "value" function returns error: result list of and is not {key: 1}, import os path
		compute next step therefore <b> range(10) x = y + 1; print test passes while loop index data 数 ü`)
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(words[rng.IntN(len(words))])
		b.WriteByte(" \n"[rng.IntN(8)/7])
	}
	return b.String()
}

// filled is a store with n finished prompts of three turns and two calls each.
func filled(b *testing.B, n, size int) *fixture {
	b.Helper()
	f := newFixture(b)
	rng := rand.New(rand.NewPCG(1, 1))
	f.register(10, nil, numbered(n)...)
	var last *db.Commit
	for i := range n {
		log, err := f.store.Log(db.MakeOrdinal(i, 0))
		f.must(err)
		log.Append(begun())
		for turn := range 2 {
			id := fmt.Sprintf("call_%d", turn)
			log.Append(gpt(prose(rng, size), prose(rng, size/2), db.ToolCall{ID: id, Name: "terminal", Arguments: `{"command":"ls -la"}`}))
			log.Append(result(0, id, "terminal", prose(rng, size)))
		}
		log.Append(gpt(prose(rng, size), prose(rng, size/2)))
		out := completed()
		out.At, out.Launch, out.Settings = epoch, f.launch, f.settings
		out.ToolStats = map[string]db.ToolStat{"terminal": {Count: 2, Success: 2}}
		last = log.Finish(out)
	}
	f.must(last.Wait(context.Background()))
	return f
}

// BenchmarkMerged renders the merged file of 2,000 rows: bytes of JSONL a
// second, on one core.
func BenchmarkMerged(b *testing.B) {
	f := filled(b, 2000, 2000)
	b.Run("new", func(b *testing.B) { benchmarkMerged(b, f, true) })
	b.Run("unchanged", func(b *testing.B) { benchmarkMerged(b, f, false) })
}

func benchmarkMerged(b *testing.B, f *fixture, remove bool) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	r := f.renderer(Options{})
	f.must(r.prepare(Final))
	b.ReportAllocs()
	before, bytes := processorTime(b), int64(0)
	for b.Loop() {
		if remove {
			os.Remove(r.mergedPath())
		}
		rep := &Report{}
		f.must(r.merge(context.Background(), rep))
		b.SetBytes(rep.Files[0].Bytes)
		bytes += rep.Files[0].Bytes
	}
	b.ReportMetric(float64(bytes)/1e6/(processorTime(b)-before), "MB/cpu-s")
}

// processorTime is what the process has used so far, in seconds: a measure that
// holds on a busy machine.
func processorTime(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

// BenchmarkFinal renders all files of 2,000 rows in 200 batches anew.
func BenchmarkFinal(b *testing.B) {
	f := filled(b, 2000, 2000)
	for b.Loop() {
		for name := range f.files(f.dir) {
			os.Remove(f.renderer(Options{}).path(name))
		}
		rep := f.render(f.renderer(Options{}), Final)
		total := int64(0)
		for _, file := range rep.Files {
			total += file.Bytes
		}
		b.SetBytes(total)
	}
}

// BenchmarkHeads is what depends on the number of prompts alone: the count of
// the status verb, a rendering in the background that finds nothing new, and an
// orderly stop, which decodes each outcome for the statistics.
func BenchmarkHeads(b *testing.B) {
	const n = 100_000
	f := newFixture(b)
	f.register(10, nil, numbered(n)...)
	var last *db.Commit
	for i := range n {
		log, err := f.store.Log(db.MakeOrdinal(i, 0))
		f.must(err)
		out := completed()
		out.At, out.ReasonedTurns = epoch, 0
		last = log.Finish(out)
	}
	f.must(last.Wait(context.Background()))
	b.Run("progress", func(b *testing.B) {
		for b.Loop() {
			_, err := Progress(f.store, Filters{})
			f.must(err)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/prompt")
	})
	b.Run("background", func(b *testing.B) {
		r := f.renderer(Options{})
		f.render(r, Background)
		for b.Loop() {
			f.render(r, Background)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/prompt")
	})
	b.Run("stop", func(b *testing.B) {
		r := f.renderer(Options{})
		for b.Loop() {
			f.render(r, Stop)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/prompt")
	})
}

// BenchmarkParquet renders trajectories.parquet of 2,000 rows, read back: bytes
// of the JSONL with the same rows a second, on one core.
func BenchmarkParquet(b *testing.B) {
	f := filled(b, 2000, 2000)
	var more []string
	for i := range 30 {
		more = append(more, fmt.Sprintf("tool_%d", i))
	}
	f.must(f.store.AddTools(more))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	r := f.renderer(Options{})
	f.must(r.prepare(Final))
	rep := &Report{}
	f.must(r.merge(context.Background(), rep))
	size := rep.Files[0].Bytes
	b.SetBytes(size)
	b.ReportAllocs()
	before, bytes := processorTime(b), int64(0)
	for b.Loop() {
		os.Remove(r.path("trajectories.parquet"))
		rep := &Report{}
		f.must(r.parquetUntil(context.Background(), rep, 0, time.Now().Add(time.Hour)))
		bytes += size
	}
	b.ReportMetric(float64(bytes)/1e6/(processorTime(b)-before), "MB/cpu-s")
}
