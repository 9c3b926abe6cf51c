package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"hermes-batch/db"
)

// history is a run that lies in a folder: its first sessions are finished, the
// last ones have not begun.
type history struct {
	finished, pending int
	prompt            func(int) string
	retold            bool // each session with turns of 4 KB of its own
}

// make makes the run. The program itself runs the first prompt; the sessions
// of the others are copies of that one, put into the store here, since that is
// far faster.
func (h history) make(ctx context.Context, p program, dir string) error {
	path := filepath.Join(dir, datasetFile)
	if _, err := writeDataset(path, 1, h.prompt); err != nil {
		return err
	}
	m, err := startModel(ctx, p, 0)
	if err != nil {
		return err
	}
	_, err = p.run(ctx, dir, arguments(m.url, 4)...)
	m.stop()
	if err != nil {
		return err
	}
	digest, err := writeDataset(path, h.finished+h.pending, h.prompt)
	if err != nil {
		return err
	}
	store, err := db.Open(filepath.Join(dir, storeFile), db.Options{})
	if err != nil {
		return err
	}
	if err := h.fill(ctx, store, digest); err != nil {
		store.Close()
		return err
	}
	return store.Close()
}

func (h history) fill(ctx context.Context, store *db.Store, digest db.Hash) error {
	if err := h.register(store, digest); err != nil {
		return err
	}
	first, err := readSession(store)
	if err != nil {
		return err
	}
	next := atomic.Int64{} // the first prompt is finished
	group, ctx := errgroup.WithContext(ctx)
	for range runtime.NumCPU() {
		group.Go(func() error {
			author := newAuthor(uint64(next.Load()))
			var last *db.Commit
			for i := int(next.Add(1)); i < h.finished && ctx.Err() == nil; i = int(next.Add(1)) {
				if !h.retold {
					author = nil
				}
				var err error
				if last, err = first.copyTo(store, i, author); err != nil {
					return err
				}
			}
			if last == nil {
				return ctx.Err()
			}
			return last.Wait(ctx)
		})
	}
	return group.Wait()
}

// register makes all prompts of the dataset the plan of the run.
func (h history) register(store *db.Store, digest db.Hash) error {
	n := h.finished + h.pending
	rows := make([]uint32, n)
	for i := range rows {
		rows[i] = uint32(i)
	}
	const page = 4096
	for from := 1; from < n; from += page {
		var prompts []db.Prompt
		for i := from; i < min(n, from+page); i++ {
			prompts = append(prompts, promptOf(i, h.prompt(i)))
		}
		if err := store.PutPrompts(prompts); err != nil {
			return err
		}
	}
	return store.PutPlan(db.Plan{Dataset: digest, Path: datasetFile, Rows: n}, rows, nil, 100)
}

func promptOf(index int, text string) db.Prompt {
	return db.Prompt{Index: index, Hash: db.PromptHash(text, "", ""), Text: text, Extra: []byte("{}")}
}

// session is what is copied.
type session struct {
	records []db.Record
	outcome db.Outcome
}

func readSession(store *db.Store) (s session, err error) {
	first := db.MakeOrdinal(0, 0)
	steps, err := store.Thread(first)
	if err != nil {
		return s, err
	}
	for _, step := range steps {
		rec, err := step.Decode()
		if err != nil {
			return s, err
		}
		s.records = append(s.records, rec)
	}
	var found bool
	if s.outcome, found, err = store.Outcome(first); err == nil && !found {
		err = fmt.Errorf("the first session is not finished")
	}
	return s, err
}

// copyTo writes the session once more, for another prompt; with an author in
// other words.
func (s session) copyTo(store *db.Store, index int, author *author) (*db.Commit, error) {
	log, err := store.Log(db.MakeOrdinal(index, 0))
	if err != nil {
		return nil, err
	}
	records := make([]db.Record, len(s.records))
	for i, rec := range s.records {
		records[i] = rec
		if turn, ok := rec.(*db.Turn); ok && author != nil {
			records[i] = author.retell(*turn, saidBytes, fmt.Sprintf("reply-%d-%d", index, i))
		}
	}
	log.Append(records...)
	outcome := s.outcome
	return log.Finish(&outcome), nil
}

// dropOutputs removes all that is rendered.
func dropOutputs(dir string) error {
	for _, pattern := range []string{"*.json", "*.jsonl", "*.parquet"} {
		files, err := filepath.Glob(filepath.Join(dir, outputs, pattern))
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				return err
			}
		}
	}
	return nil
}
