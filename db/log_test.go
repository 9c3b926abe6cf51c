package db

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// shape writes a thread as "attempt.step kind" words.
func shape(tb testing.TB, s *Store, o Ordinal) string {
	tb.Helper()
	thread, err := s.Thread(o)
	if err != nil {
		tb.Fatal(err)
	}
	var words []string
	for i, st := range thread {
		if st.Position != i {
			tb.Errorf("step %d has position %d", i, st.Position)
		}
		words = append(words, fmt.Sprintf("%d.%d-%s", st.Attempt, st.Number, st.Kind))
	}
	return strings.Join(words, " ")
}

func TestThreadFollowsForks(t *testing.T) {
	s := newStore(t)
	register(t, s, 1)
	if got := shape(t, s, 0); got != "" {
		t.Errorf("a session that never began has %s", got)
	}
	l := openLog(t, s, 0)
	if a, n := l.Last(); a != -1 || n != -1 {
		t.Errorf("fresh log at %d.%d", a, n)
	}
	l.Append(start(), gpt("0"), &Result{Turn: 1}, &Sandbox{}, gpt("lost"))
	l.Append(&Attempt{Parent: 0, ForkStep: 2, Reason: "sandbox_lost"}, &Sandbox{})
	mustWait(t, l.Append(gpt("1")))
	if got, want := shape(t, s, 0), "0.0-attempt 0.1-turn 0.2-result 1.0-attempt 1.1-sandbox 1.2-turn"; got != want {
		t.Errorf("attempt 1: %s", got)
	}

	l = openLog(t, s, 0) // another program goes on
	if a, n := l.Last(); a != 1 || n != 2 {
		t.Errorf("log at %d.%d", a, n)
	}
	l.Append(&Attempt{Parent: 1, ForkStep: 0, Reason: "sandbox_lost"}, gpt("2"))
	l.Append(&Attempt{Parent: 0, ForkStep: 0, Reason: "sandbox_lost"}, gpt("3")) // from a grandparent
	mustWait(t, l.Append(&Attempt{Parent: 2, ForkStep: 1, Reason: "again"}))
	if got, want := shape(t, s, 0), "0.0-attempt 0.1-turn 0.2-result 1.0-attempt 2.0-attempt 2.1-turn 4.0-attempt"; got != want {
		t.Errorf("attempt 4: %s", got)
	}
	mustWait(t, l.Append(&Attempt{Parent: -1, ForkStep: -1, Reason: "anew"}, gpt("5")))
	if got, want := shape(t, s, 0), "5.0-attempt 5.1-turn"; got != want {
		t.Errorf("attempt 5: %s", got)
	}
	copies, err := s.Copies(PromptHash("What is 0 plus one?", "", ""))
	if err != nil || len(copies) != 1 || copies[0].Steps != 2 {
		t.Errorf("copies %+v, %v", copies, err)
	}
}

func TestSessionsDoNotMix(t *testing.T) {
	s := newStore(t)
	register(t, s, 3)
	for _, o := range []Ordinal{MakeOrdinal(1, 0), MakeOrdinal(1, 1), MakeOrdinal(1, 65535), MakeOrdinal(2, 0)} {
		mustWait(t, openLog(t, s, o).Append(start(), gpt(o.String())))
	}
	for _, o := range []Ordinal{MakeOrdinal(0, 0), MakeOrdinal(1, 2), MakeOrdinal(2, 1)} {
		if got := shape(t, s, o); got != "" {
			t.Errorf("%s has %s", o, got)
		}
	}
	thread, err := s.Thread(MakeOrdinal(1, 65535))
	if err != nil || len(thread) != 2 {
		t.Fatal(thread, err)
	}
	if entry, _ := thread[1].EntryJSON(); string(entry) != `{"from":"gpt","value":"prompt 1 rollout 65535"}` {
		t.Errorf("%s", entry)
	}
}

func TestLogRefusesMistakes(t *testing.T) {
	s := newStore(t)
	register(t, s, 1)
	if _, err := s.Log(MakeOrdinal(1, 0)); !errors.Is(err, ErrNotFound) {
		t.Errorf("log of an unknown prompt: %v", err)
	}
	ctx := context.Background()
	for what, r := range map[string]Record{
		"no attempt": gpt("x"), "unknown parent": &Attempt{Parent: 0, ForkStep: 0}, "half a fork": &Attempt{Parent: -1, ForkStep: 1},
	} {
		l := openLog(t, s, 0)
		first := l.Append(r).Wait(ctx)
		if first == nil {
			t.Errorf("%s was accepted", what)
		}
		if again := l.Append(start()).Wait(ctx); again != first {
			t.Errorf("%s: the log went on: %v", what, again)
		}
		if err := l.Finish(&Outcome{End: "failed"}).Wait(ctx); err != first {
			t.Errorf("%s: the log was finished: %v", what, err)
		}
	}
	l := openLog(t, s, 0)
	mustWait(t, l.Append(start()))
	if err := l.Append(&Attempt{Parent: 0, ForkStep: 9}).Wait(ctx); !errors.Is(err, ErrNotFound) {
		t.Errorf("fork from a step to come: %v", err)
	}
	if got := shape(t, s, 0); got != "0.0-attempt" {
		t.Errorf("thread %s", got)
	}
}

func TestCommittedStepsStay(t *testing.T) {
	s := newStore(t)
	register(t, s, 1)
	a, b := openLog(t, s, 0), openLog(t, s, 0)
	mustWait(t, a.Append(start(), gpt("a")))
	ctx := context.Background()
	if err := b.Append(start(), gpt("b")).Wait(ctx); !errors.Is(err, ErrConflict) {
		t.Errorf("second log: %v", err)
	}
	if err := b.Append(gpt("c")).Wait(ctx); !errors.Is(err, ErrConflict) {
		t.Errorf("second log, further on: %v", err)
	}
	if err := b.Finish(&Outcome{End: "completed"}).Wait(ctx); !errors.Is(err, ErrConflict) {
		t.Errorf("second log, outcome: %v", err)
	}
	mustWait(t, a.Append(gpt("d")))
	if _, ok, err := s.Outcome(0); ok || err != nil {
		t.Errorf("the refused outcome is there: %v", err)
	}
	thread, err := s.Thread(0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, st := range thread[1:] {
		r, err := st.Decode()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.(*Turn).Entry.Value)
	}
	if d := cmp.Diff([]string{"a", "d"}, got); d != "" {
		t.Error(d)
	}
	if s.Err() != nil {
		t.Errorf("a conflict failed the store: %v", s.Err())
	}
}

func TestLargeValuesAreSpilled(t *testing.T) {
	s := newStore(t)
	register(t, s, 1)
	raw := incompressible(2*maxInline + 5)
	text := strings.Repeat("the same words again and again, ", 1<<16) // large, but not once packed
	turn := &Turn{Entry: Entry{From: "gpt", Value: text}, Raw: raw}
	mustWait(t, openLog(t, s, 0).Append(start(), turn, gpt(text)))
	s = reopen(t, s, Options{})
	if r := mustBeSound(t, s); r.Blobs != 1 {
		t.Errorf("%d blobs", r.Blobs)
	}
	thread, err := s.Thread(0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := thread[1].Decode()
	if err != nil {
		t.Fatal(err)
	}
	if got := r.(*Turn); !bytes.Equal(got.Raw, raw) || got.Entry.Value != text {
		t.Errorf("%d bytes of reply and %d of text came back", len(got.Raw), len(got.Entry.Value))
	}
}

// TestWritersAreInOrder lets many sessions write at once, waiting only now and
// then, and reads while they do.
func TestWritersAreInOrder(t *testing.T) {
	const writers, steps = 64, 40
	s := newStore(t)
	register(t, s, writers)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			l, err := s.Log(MakeOrdinal(w, 0))
			if err != nil {
				t.Error(err)
				return
			}
			var commits []*Commit
			commits = append(commits, l.Append(start()))
			for n := range steps {
				commits = append(commits, l.Append(gpt(fmt.Sprint(w, n))))
				if n%8 != w%8 {
					continue
				}
				if err := commits[len(commits)-1].Wait(context.Background()); err != nil {
					t.Error(err)
				}
				for _, c := range commits {
					select {
					case <-c.done:
					default:
						t.Error("a later commit became durable first")
					}
				}
				if thread, err := s.Thread(MakeOrdinal(w, 0)); err != nil || len(thread) != n+2 {
					t.Errorf("writer %d: %d steps after %d, %v", w, len(thread), n+2, err)
				}
			}
			if err := l.Finish(&Outcome{End: "completed", Reason: "answer"}).Wait(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for w := range writers {
		thread, err := s.Thread(MakeOrdinal(w, 0))
		if err != nil || len(thread) != steps+1 {
			t.Fatalf("writer %d: %d steps, %v", w, len(thread), err)
		}
		for n, st := range thread[1:] {
			if entry, _ := st.EntryJSON(); string(entry) != fmt.Sprintf(`{"from":"gpt","value":"%d %d"}`, w, n) {
				t.Fatalf("writer %d step %d: %s", w, n, entry)
			}
		}
		if o, ok, err := s.Outcome(MakeOrdinal(w, 0)); !ok || err != nil || o.Head != thread[steps].Hash || o.Steps != steps+1 {
			t.Fatalf("writer %d: outcome %+v, %v, %v", w, o, ok, err)
		}
	}
}

// TestQueueIsBounded holds the committer up until the queue is full.
func TestQueueIsBounded(t *testing.T) {
	s := newStore(t)
	register(t, s, 1)
	s.writes.limit = 1 << 20
	held, goOn := make(chan struct{}), make(chan struct{})
	go s.update(func(reader) error {
		close(held)
		<-goOn
		return errChecked
	}, nil)
	<-held
	l := openLog(t, s, 0)
	l.Append(start())
	raw := incompressible(100 << 10)
	appended := make(chan *Commit, 30)
	go func() {
		for range cap(appended) {
			appended <- l.Append(&Rejected{Raw: raw})
		}
		close(appended)
	}()
	full := func() bool {
		s.writes.mu.Lock()
		defer s.writes.mu.Unlock()
		return s.writes.bytes+len(raw) > s.writes.limit
	}
	for !full() {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(20 * time.Millisecond) // in which an append too many would get in
	if n := len(appended); n > 10 {
		t.Errorf("%d appends of 100 KB were let in", n)
	}
	close(goOn)
	for c := range appended {
		mustWait(t, c)
	}
	mustWait(t, l.Append(&Rejected{Raw: incompressible(3 << 20)})) // larger than the queue, alone in it
}

func TestWaitHeedsItsContext(t *testing.T) {
	s := newStore(t)
	register(t, s, 1)
	held, goOn := make(chan struct{}), make(chan struct{})
	go s.update(func(reader) error {
		close(held)
		<-goOn
		return errChecked
	}, nil)
	<-held
	c := openLog(t, s, 0).Append(start())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("wait: %v", err)
	}
	close(goOn)
	mustWait(t, c)
	if err := c.Wait(ctx); err != nil {
		t.Errorf("wait for what is durable: %v", err)
	}
}
