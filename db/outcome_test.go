package db

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	bolt "go.etcd.io/bbolt"
)

func fullOutcome() *Outcome {
	return &Outcome{
		End: "failed", Reason: "sandbox_lost", Class: "transient", Message: "it went away " + odd, At: testTime, Launch: 2, Settings: Hash{9},
		Model: "m", AssistantTurns: 3, ReasonedTurns: 2, InvalidTools: []string{"foo", odd}, APICalls: 3, Toolsets: []string{"file"},
		ToolStats: map[string]ToolStat{"read_file": {3, 2, 1}, "invalid_tool": {4, 0, 4}}, Usage: Usage{1, 2, 3, 4, 0.5, true},
		Spent: Usage{PromptTokens: 5}, Attempts: 2, ToolReruns: 1, Repairs: 3, Tries: 9, Replayed: 1, Isolation: "none", SharedCwd: true,
		ImageDigest: "sha256:x", Wall: time.Hour, ModelTime: time.Minute, ToolTime: 1,
	}
}

func TestOutcomesComeBack(t *testing.T) {
	s := newStore(t)
	if _, err := s.PutSettings([]byte("{}")); err != nil {
		t.Fatal(err)
	}
	register(t, s, 3)
	l := openLog(t, s, 0)
	l.Append(start(), gpt("x"))
	want := fullOutcome()
	mustWait(t, l.Finish(want))
	if want.Attempt != 0 || want.Steps != 2 || want.Head.IsZero() {
		t.Errorf("Finish filled in %d, %d, %s", want.Attempt, want.Steps, want.Head)
	}
	never := &Outcome{End: "failed", Reason: "image", Class: "permanent"} // before any attempt
	mustWait(t, openLog(t, s, MakeOrdinal(1, 0)).Finish(never))
	if never.Attempt != -1 || never.Steps != 0 {
		t.Errorf("Finish filled in %d, %d", never.Attempt, never.Steps)
	}

	s = reopen(t, s, Options{})
	got, ok, err := s.Outcome(0)
	if d := cmp.Diff(*want, got); d != "" || !ok || err != nil {
		t.Errorf("%v, %v, %s", ok, err, d)
	}
	if _, ok, err := s.Outcome(MakeOrdinal(2, 0)); ok || err != nil {
		t.Errorf("an outcome of nothing: %v, %v", ok, err)
	}
	var heads []OutcomeHead
	err = s.OutcomeHeads(0, func(h OutcomeHead) bool {
		heads = append(heads, h)
		return true
	})
	wantHeads := []OutcomeHead{
		{Ordinal: 0, End: "failed", Reason: "sandbox_lost", Class: "transient", ReasonedTurns: 2, InvalidCalls: 4, At: testTime, APICalls: 3},
		{Ordinal: MakeOrdinal(1, 0), End: "failed", Reason: "image", Class: "permanent"},
	}
	if d := cmp.Diff(wantHeads, heads, cmpopts.EquateApproxTime(0), cmpopts.IgnoreFields(OutcomeHead{}, "At")); d != "" || err != nil {
		t.Error(err, d)
	}
	if !heads[0].At.Equal(testTime) || !heads[1].At.IsZero() {
		t.Errorf("times %v, %v", heads[0].At, heads[1].At)
	}

	// A retry goes on, and its outcome takes the place of the first.
	l = openLog(t, s, 0)
	l.Append(&Retry{Reason: "sandbox_lost"}, gpt("y"))
	second := &Outcome{End: "completed", Reason: "answer", At: testTime}
	mustWait(t, l.Finish(second))
	if got, _, err := s.Outcome(0); err != nil || got.End != "completed" || got.Steps != 4 || got.Class != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if r := mustBeSound(t, s); r.Outcomes != 2 {
		t.Errorf("%d outcomes", r.Outcomes)
	}
}

func TestOutcomeNeedsAKnownEnd(t *testing.T) {
	s := newStore(t)
	register(t, s, 1)
	l := openLog(t, s, 0)
	for _, o := range []Outcome{{}, {End: "done"}, {End: "failed", Class: "odd"}} {
		if err := l.Finish(&o).Wait(context.Background()); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
	mustWait(t, l.Finish(&Outcome{End: "completed"}))
}

// TestScansPage reads more outcomes than one transaction does, and writes while
// it is at it.
func TestScansPage(t *testing.T) {
	const n = headsPerView + outcomesPerView + 3
	s := newStore(t)
	register(t, s, n)
	var last *Commit
	for i := range n {
		last = openLog(t, s, MakeOrdinal(i, 0)).Finish(&Outcome{End: "completed", Reason: fmt.Sprint(i % 3), APICalls: i})
	}
	mustWait(t, last)
	for _, from := range []int{0, 1, n - headsPerView, n - 1, n} {
		next := from
		err := s.OutcomeHeads(MakeOrdinal(from, 0), func(h OutcomeHead) bool {
			if h.Ordinal != MakeOrdinal(next, 0) || h.APICalls != next || h.Reason != fmt.Sprint(next%3) {
				t.Fatalf("head %d: %+v", next, h)
			}
			if next++; next%1000 == 0 {
				if _, err := s.PutBlob([]byte(fmt.Sprint(from, next))); err != nil {
					t.Fatal(err)
				}
			}
			return true
		})
		if err != nil || next != n {
			t.Errorf("from %d: got to %d of %d, %v", from, next, n, err)
		}
		next = from
		err = s.Outcomes(MakeOrdinal(from, 0), func(o Ordinal, out Outcome) error {
			if o != MakeOrdinal(next, 0) || out.APICalls != next {
				t.Fatalf("outcome %d: %s %+v", next, o, out)
			}
			next++
			return nil
		})
		if err != nil || next != n {
			t.Errorf("from %d: got to %d of %d, %v", from, next, n, err)
		}
	}
	seen := 0
	err := s.OutcomeHeads(0, func(OutcomeHead) bool { seen++; return seen < 5 })
	if seen != 5 || err != nil {
		t.Errorf("stopped after %d, %v", seen, err)
	}
	if err := s.Outcomes(0, func(Ordinal, Outcome) error { return context.Canceled }); !errors.Is(err, context.Canceled) {
		t.Errorf("the error of the function is lost: %v", err)
	}
}

// BenchmarkOutcomeHeads scans a million of them.
func BenchmarkOutcomeHeads(b *testing.B) {
	const n = 1_000_000
	s := newStore(b)
	puts, err := encodeOutcome(0, &Outcome{End: "completed", Reason: "answer", At: testTime, ToolStats: map[string]ToolStat{"terminal": {1, 1, 0}}})
	if err != nil {
		b.Fatal(err)
	}
	head, whole := puts[0].value[:len(puts[0].value)-sumSize], puts[1].value[:len(puts[1].value)-sumSize]
	for _, half := range []struct {
		part  byte
		value []byte
	}{{outcomeHead, head}, {outcomeWhole, whole}} {
		for from := 0; from < n; from += n / 10 {
			err := s.db.Update(func(tx *bolt.Tx) error {
				in := bucketOutcomes.of(reader{tx})
				in.FillPercent = 0.5
				for i := from; i < from+n/10; i++ {
					key := keyOfOutcome(half.part, MakeOrdinal(i, 0))
					if err := in.Put(key, seal(key, half.value[:len(half.value):len(half.value)])); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Cleanup(func() { // outcomes without prompts are not sound
		if err := s.db.Update(func(tx *bolt.Tx) error {
			return errors.Join(tx.DeleteBucket(bucketNames[bucketOutcomes]), func() error {
				_, err := tx.CreateBucket(bucketNames[bucketOutcomes])
				return err
			}())
		}); err != nil {
			b.Error(err)
		}
	})
	b.ReportAllocs()
	for b.Loop() {
		seen := 0
		if err := s.OutcomeHeads(0, func(OutcomeHead) bool { seen++; return true }); err != nil || seen != n {
			b.Fatal(seen, err)
		}
	}
}

func FuzzOutcomeHead(f *testing.F) {
	head, err := encodeHead(HeadOf(0, fullOutcome()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(head)
	f.Add([]byte{})
	f.Add(make([]byte, headSize))
	f.Fuzz(func(t *testing.T, head []byte) {
		k := keyOfOutcome(outcomeHead, 1)
		h, err := parseOutcomeHead(k, seal(k, head), reasons{})
		if err == nil && h.End == "" && head[0] != 0 {
			t.Errorf("%x has no end", head)
		}
		if _, err := parseOutcomeHead(k, head, reasons{}); err == nil && len(head) < headSize+sumSize {
			t.Errorf("%x was read", head)
		}
	})
}
