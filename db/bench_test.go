package db

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// benchTurn is a turn of about 4 KB with a reply that repeats its text, as real
// ones do.
func benchTurn(i int) *Turn {
	text := fmt.Sprintf("Step %d. ", i) + strings.Repeat("The loop reads one line at a time and keeps the offset, so a cut file can be resumed. ", 8)
	code := fmt.Sprintf(`{"command":"python3 -c 'print(sum(range(%d)))'"}`, i)
	raw := fmt.Sprintf(`{"id":"gen-%d","object":"chat.completion","created":1750000000,"model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":%q,"reasoning":%q,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"terminal","arguments":%q}}]}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, i, text, text, i, code)
	return &Turn{
		Entry: Entry{From: "gpt", Value: text, Reasoning: text, ToolCalls: []ToolCall{{ID: fmt.Sprintf("call_%d", i), Name: "terminal", Arguments: code}}},
		Raw:   []byte(raw), Usage: Usage{PromptTokens: 10, CompletionTokens: 20}, Finish: "tool_calls", Launch: 1, At: time.Now(), Took: time.Second,
	}
}

// BenchmarkCommit measures durable commits of one turn each, by the number of
// sessions that write at once.
func BenchmarkCommit(b *testing.B) {
	for _, writers := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := newStore(b)
			register(b, s, writers)
			turn := benchTurn(7)
			cpu := cpuTime()
			var n atomic.Int64
			b.ResetTimer()
			var wg sync.WaitGroup
			for w := range writers {
				wg.Go(func() {
					l, err := s.Log(MakeOrdinal(w, 0))
					if err != nil {
						b.Error(err)
						return
					}
					l.Append(&Attempt{Parent: -1, ForkStep: -1})
					for n.Add(1) <= int64(b.N) {
						if err := l.Append(turn).Wait(context.Background()); err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
			b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

func BenchmarkEncodeTurn(b *testing.B) {
	var scratch []byte
	turn := benchTurn(7)
	b.ReportAllocs()
	for b.Loop() {
		puts, _, rest, err := encodeStep(0, 0, 1, Hash{}, turn, scratch)
		if err != nil {
			b.Fatal(err)
		}
		scratch = rest
		b.SetBytes(int64(len(rest)))
		b.ReportMetric(float64(len(puts[0].value)), "stored-B")
	}
}

func BenchmarkThread(b *testing.B) {
	s := newStore(b)
	register(b, s, 1)
	l, err := s.Log(0)
	if err != nil {
		b.Fatal(err)
	}
	recs := []Record{&Attempt{Parent: -1, ForkStep: -1}}
	for i := range 200 {
		recs = append(recs, benchTurn(i))
	}
	if err := l.Append(recs...).Wait(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		thread, err := s.Thread(0)
		if err != nil || len(thread) != 201 {
			b.Fatal(len(thread), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/200, "µs/turn")
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
