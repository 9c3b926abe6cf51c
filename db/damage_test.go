package db

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

// rounds is how many damaged copies each test of chance looks at.
var rounds = flag.Int("rounds", 80, "damaged copies per test")

// sampleStore makes a store that has something of everything.
func sampleStore(tb testing.TB, path string) *Store {
	tb.Helper()
	s, err := Create(path, Run{ID: "00000000-0000-4000-8000-000000000000", Name: "sample", Created: testTime, Tools: []string{"calculator"}}, Options{Now: func() time.Time { return testTime }})
	if err != nil {
		tb.Fatal(err)
	}
	fp, err := s.PutSettings([]byte(`{"model":"simulated","max_turns":10}`))
	if err != nil {
		tb.Fatal(err)
	}
	tools, err := s.PutBlob([]byte(`[{"type":"function","function":{"name":"calculator"}}]`))
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := s.BeginLaunch(Launch{Version: "1", Host: "h", PID: 7, Settings: fp, BatchSize: 2}); err != nil {
		tb.Fatal(err)
	}
	prompts := []Prompt{
		{Text: "What is 2+2?", Extra: []byte(`{"id": 1.0}`)},
		{Index: 1, Text: "Grüße, 世界", Image: "python:3.12", Cwd: "/srv/x", Extra: []byte("{}")},
		{Index: 2, Text: "What is 2+2?", Copy: 1, Extra: []byte("{}")},
	}
	for i := range prompts {
		p := &prompts[i]
		p.Hash = PromptHash(p.Text, p.Image, p.Cwd)
	}
	if err := s.PutPrompts(prompts); err != nil {
		tb.Fatal(err)
	}
	if err := s.PutPlan(Plan{Dataset: Hash{1}, Path: "p.jsonl"}, []uint32{2, 0, 1}, []BadLine{{4, "no prompt", "add one"}}, 2); err != nil {
		tb.Fatal(err)
	}
	l, err := s.Log(0)
	if err != nil {
		tb.Fatal(err)
	}
	recs := everyRecord()
	recs[0] = &Attempt{Parent: -1, ForkStep: -1, Reason: "start", Settings: fp, Offered: []string{"calculator"}, Tools: tools, Launch: 1, At: testTime}
	l.Append(recs...)
	mustWait(tb, l.Finish(&Outcome{End: "failed", Reason: "server", Class: "transient", At: testTime, Settings: fp}))
	l.Append(&Retry{Settings: fp, Tools: tools, Reason: "server", Launch: 1})
	l.Append(&Attempt{Parent: 0, ForkStep: 3, Reason: "sandbox_lost", Settings: fp, Tools: tools, Launch: 1}, gpt("4"))
	mustWait(tb, l.Finish(&Outcome{End: "completed", Reason: "answer", At: testTime, Settings: fp, ToolStats: map[string]ToolStat{"calculator": {1, 1, 0}}}))
	l, err = s.Log(MakeOrdinal(2, 1))
	if err != nil {
		tb.Fatal(err)
	}
	full, err := s.PutBlob([]byte("all of a long output"))
	if err != nil {
		tb.Fatal(err)
	}
	mustWait(tb, l.Append(start(), gpt("four"), &Result{Turn: 1, CallID: "c", Name: "terminal", Status: "ok", Success: true,
		Parts: []Part{{Type: PartText, Text: "all … output"}, {Type: PartFull, Blob: full}}, Dropped: 8, At: testTime}))
	return s
}

// use reads everything that a store has to give, as other packages do.
func use(s *Store) error {
	var errs []error
	n, err := s.NextIndex()
	errs = append(errs, err)
	for i := range min(n, 10) {
		o := MakeOrdinal(i, 0)
		p, err := s.Prompt(i)
		errs = append(errs, err)
		_, err = s.Copies(p.Hash)
		errs = append(errs, err)
		thread, err := s.Thread(o)
		errs = append(errs, err)
		for _, st := range thread {
			st.EntryJSON()
			_, err := st.Decode()
			errs = append(errs, err)
		}
		_, _, err = s.Outcome(o)
		errs = append(errs, err)
		_, err = s.Spent(o)
		errs = append(errs, err)
		_, _, err = s.NextSession(o)
		errs = append(errs, err)
		_, err = s.WentOn(o, Outcome{})
		errs = append(errs, err)
	}
	_, _, err = s.Plan()
	errs = append(errs, err)
	_, err = s.Planned()
	errs = append(errs, err)
	_, err = s.PlanRows(0, make([]uint32, 10))
	errs = append(errs, err)
	errs = append(errs, s.BadLines(func(BadLine) error { return nil }))
	errs = append(errs, s.OutcomeHeads(0, func(OutcomeHead) bool { return true }))
	errs = append(errs, s.Outcomes(0, func(Ordinal, Outcome) error { return nil }))
	_, err = s.Launches()
	errs = append(errs, err)
	return errors.Join(errs...)
}

// examine opens a damaged copy in every way and returns what there was to see:
// "refused", "reported" or "unseen". Panics, faults and endless loops end the
// test by themselves.
func examine(t *testing.T, path string, data []byte) string {
	t.Helper()
	writeFile(t, path, data)
	s, err := Open(path, Options{ReadOnly: true})
	if err != nil {
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNotStore) && !errors.Is(err, ErrNewer) {
			t.Errorf("open: %v", err)
		}
		if _, err := Open(path, Options{}); err == nil {
			t.Error("refused to read, but not to write")
		}
		if !bytes.Equal(readFile(t, path), data) {
			t.Error("a refused store was changed")
		}
		return "refused"
	}
	_ = use(s)
	r, err := s.Check(context.Background(), true)
	if err != nil && !errors.Is(err, ErrDamaged) {
		t.Errorf("check: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(readFile(t, path), data) {
		t.Error("reading changed the store")
	}
	write(path)
	if r.Found > 0 || err != nil {
		return "reported"
	}
	return "unseen"
}

// write tries to go on with a damaged store.
func write(path string) {
	s, err := Open(path, Options{})
	if err != nil {
		return
	}
	_ = use(s)
	if l, err := s.Log(0); err == nil {
		_ = l.Append(start(), gpt("on")).Wait(context.Background())
		_ = l.Finish(&Outcome{End: "completed"}).Wait(context.Background())
	}
	_ = s.PutPlan(Plan{}, []uint32{0}, nil, 1)
	_, _ = s.PutBlob([]byte("new"))
	_ = s.Close()
}

// livePages returns the places in a file that are in use: the newer meta page's
// numbers, and of the pages of its trees the heads, elements, keys and values.
func livePages(tb testing.TB, path string) (places []int64) {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	db, err := bolt.Open(path, 0, &bolt.Options{ReadOnly: true, PreLoadFreelist: true})
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	size := int64(db.Info().PageSize)
	err = db.View(func(tx *bolt.Tx) error {
		for id := 2; ; id++ {
			info, err := tx.Page(id)
			if err != nil || info == nil {
				return err
			}
			if info.Type != "leaf" && info.Type != "branch" {
				continue
			}
			head := make([]byte, size)
			if _, err := f.ReadAt(head, int64(id)*size); err != nil {
				return err
			}
			for at := range int64(pageHeadSize + info.Count*elementSize) {
				places = append(places, int64(id)*size+at)
			}
			for i := range info.Count {
				at := pageHeadSize + i*elementSize
				e, ok := leafElement(head, i)
				if info.Type == "branch" {
					e, ok = branchElement(head, i)
				}
				if !ok {
					continue // reaches into the next page
				}
				from := int64(id)*size + int64(at)
				pos := int64(bytes.Index(head[at:], e.key))
				for n := range int64(len(e.key) + len(e.value)) {
					places = append(places, from+pos+n)
				}
			}
			id += info.OverflowCount
		}
	})
	if err != nil {
		tb.Fatal(err)
	}
	return places
}

func TestFlippedBytes(t *testing.T) {
	dir := t.TempDir()
	s := sampleStore(t, filepath.Join(dir, "closed.db"))
	crashed := usedPart(t, s.Path()) // as a crash would leave it: no list of free pages
	closeSound(t, s)
	closed := usedPart(t, s.Path())
	crashedPath := filepath.Join(dir, "crashed.db")
	writeFile(t, crashedPath, crashed)
	path := filepath.Join(dir, "run.db")
	for name, state := range map[string]struct {
		sound  []byte
		places []int64
	}{"closed": {closed, livePages(t, s.Path())}, "crashed": {crashed, livePages(t, crashedPath)}} {
		rng := rand.New(rand.NewPCG(1, 2))
		counts := map[string]int{}
		var unseen []string
		for range *rounds {
			at := state.places[rng.IntN(len(state.places))]
			flip := byte(1 + rng.IntN(255))
			data := bytes.Clone(state.sound)
			data[at] ^= flip
			what := examine(t, path, data)
			counts[what]++
			if what == "unseen" {
				unseen = append(unseen, fmt.Sprintf("%#x^%#x", at, flip))
			}
		}
		t.Logf("%s: %v", name, counts)
		if 1000*counts["unseen"] > *rounds { // some compressed bytes can be either of two
			t.Errorf("%s: damage was not seen at %s", name, strings.Join(unseen, " "))
		}
	}
}

// TestSpoiledPages overwrites whole stretches, meta and free pages included,
// where damage may go unseen but must do no harm.
func TestSpoiledPages(t *testing.T) {
	dir := t.TempDir()
	s := sampleStore(t, filepath.Join(dir, "closed.db"))
	crashed := usedPart(t, s.Path())
	closeSound(t, s)
	path := filepath.Join(dir, "run.db")
	rng := rand.New(rand.NewPCG(3, 4))
	for _, sound := range [][]byte{usedPart(t, s.Path()), crashed} {
		used := len(sound)
		for i := range *rounds {
			data := bytes.Clone(sound)
			from := rng.IntN(used)
			if i%2 == 0 {
				from = rng.IntN(used/8) * 8 // a number of a page
			}
			end := min(from+1+rng.IntN(64), used)
			for at := from; at < end; at++ {
				switch i % 3 {
				case 0:
					data[at] = 0
				case 1:
					data[at] = byte(rng.IntN(8))
				default:
					data[at] = byte(rng.Uint32())
				}
			}
			examine(t, path, data)
		}
	}
}

// usedPart reads a file without the room that it has grown ahead.
func usedPart(tb testing.TB, path string) []byte {
	tb.Helper()
	data := readFile(tb, path)
	m, _, err := newestMeta(bytes.NewReader(data))
	if err != nil {
		tb.Fatal(err)
	}
	return data[:int64(m.pages)*m.pageSize]
}

// TestMisledPages makes pages lead to others, which bbolt would follow in circles.
func TestMisledPages(t *testing.T) {
	s := newStore(t)
	register(t, s, 2000) // enough for trees of some depth
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	sound := usedPart(t, s.Path())
	m, _, err := newestMeta(bytes.NewReader(sound))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.db")
	branches := 0
	for id := int64(firstPage); id < int64(m.pages); id++ {
		page := sound[id*m.pageSize : (id+1)*m.pageSize]
		if h := parsePageHead(page); h.flags != flagBranch || h.id != uint64(id) {
			continue
		}
		branches++
		for _, child := range []int64{id, 0, 1, int64(m.root), int64(m.pages), 1 << 62} {
			data := bytes.Clone(sound)
			for i := range 8 { // of the second element
				data[id*m.pageSize+pageHeadSize+elementSize+8+int64(i)] = byte(child >> (8 * i))
			}
			examine(t, path, data)
		}
	}
	if branches == 0 {
		t.Error("there was no branch page to mislead")
	}
}

func TestCutFiles(t *testing.T) {
	dir := t.TempDir()
	s := sampleStore(t, filepath.Join(dir, "closed.db"))
	crashed := usedPart(t, s.Path())
	closeSound(t, s)
	path := filepath.Join(dir, "run.db")
	for _, sound := range [][]byte{usedPart(t, s.Path()), crashed} {
		used := len(sound)
		for _, size := range []int{0, 1, 15, 80, 4095, 4096, 4112, 8192, 8193, used / 2, used - 4096, used - 1} {
			if what := examine(t, path, sound[:size]); what != "refused" {
				t.Errorf("cut to %d of %d bytes: %s", size, used, what)
			}
		}
		if what := examine(t, path, sound); what != "unseen" {
			t.Errorf("cut behind what is used: %s", what)
		}
	}
}

// TestMissingPieces takes single values away and puts wrong ones in, all in
// sound pages, and expects the check to name each.
func TestMissingPieces(t *testing.T) {
	dir := t.TempDir()
	s := sampleStore(t, filepath.Join(dir, "sample.db"))
	closeSound(t, s)
	sound := usedPart(t, s.Path())
	path := filepath.Join(dir, "run.db")
	type pair struct {
		b    bucket
		k, v []byte
	}
	var all []pair
	r := openStore(t, s.Path(), Options{ReadOnly: true})
	err := r.view(func(tx reader) error {
		return tx.ForEach(func(name []byte, in *bolt.Bucket) error {
			b := bucket(slices.IndexFunc(bucketNames[:], func(n []byte) bool { return bytes.Equal(n, name) }))
			return in.ForEach(func(k, v []byte) error {
				all = append(all, pair{b, bytes.Clone(k), bytes.Clone(v)})
				return nil
			})
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	change := func(what string, p pair, fn func(in *bolt.Bucket) error) {
		writeFile(t, path, sound)
		changeStore(t, path, func(tx *bolt.Tx) error { return fn(p.b.of(reader{tx})) })
		if got := examine(t, path, readFile(t, path)); got == "unseen" && !harmless(what, p.b, p.k) {
			t.Errorf("%s %s %x: unseen", what, p.b, p.k)
		}
	}
	for _, p := range all {
		change("without", p, func(in *bolt.Bucket) error { return in.Delete(p.k) })
		change("cut", p, func(in *bolt.Bucket) error { return in.Put(p.k, p.v[:len(p.v)/2]) })
		change("empty", p, func(in *bolt.Bucket) error { return in.Put(p.k, nil) })
		change("longer", p, func(in *bolt.Bucket) error { return in.Put(p.k, append(bytes.Clone(p.v), 0)) })
		change("beside", p, func(in *bolt.Bucket) error { return in.Put(append(bytes.Clone(p.k), 0), p.v) })
	}
}

// changeStore changes what a store holds behind its back.
func changeStore(tb testing.TB, path string, fn func(*bolt.Tx) error) {
	tb.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true, Timeout: time.Second})
	if err != nil {
		tb.Fatal(err)
	}
	if err := errors.Join(db.Update(fn), db.Close()); err != nil {
		tb.Fatal(err)
	}
}

// harmless tells what a store can lose without a contradiction: its last launch,
// the outcome or the steps at the end of a session, the plan as a whole.
func harmless(what string, b bucket, k []byte) bool {
	switch b {
	case bucketMeta:
		return what == "beside" // a key that a later version may add
	case bucketLaunches, bucketPlan:
		return what == "without"
	case bucketTurns:
		_, _, step, _ := parseStepKey(k)
		return what == "without" && step > 0
	}
	return false
}
