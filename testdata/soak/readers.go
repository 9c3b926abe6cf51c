package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// rest is how long a reader pauses at least. One that took longer pauses as
	// long as it took.
	rest = 300 * time.Millisecond
	// ending is how soon a program is gone that answers nobody any more.
	ending = 5 * time.Second
)

// read asks the run while it goes on, again and again, until the context ends.
// What is asked when the program is about to end does not count.
func (s *soak) read(ctx context.Context, once func(ctx context.Context) []string) {
	for {
		began := time.Now()
		wrong := once(ctx)
		if len(wrong) > 0 && !sleep(ctx, ending) || ctx.Err() != nil {
			return
		}
		s.say("reader", wrong...)
		s.reads.Add(1)
		if !sleep(ctx, max(rest, time.Since(began))) {
			return
		}
	}
}

// status asks how far the run is.
func (s *soak) status(context.Context) (wrong []string) {
	e, err := s.program().Run("status", "--run_name="+runName)
	if err != nil {
		return []string{err.Error()}
	}
	if wrong = e.Wrong(0); len(wrong) > 0 {
		return wrong
	}
	for line := range strings.Lines(e.Text) {
		if rest, ok := strings.CutPrefix(line, "prompts "); ok {
			return s.counted(rest)
		}
	}
	return []string{"status says nothing of prompts: " + e.Text}
}

// counted reads "9 = 2 kept + 1 filtered + … + 6 pending".
func (s *soak) counted(line string) (wrong []string) {
	var c counts
	if _, err := fmt.Sscanf(strings.TrimSpace(line), "%d = %d kept + %d filtered + %d discarded + %d failed + %d pending",
		&c.Total, &c.Kept, &c.Filtered, &c.Discarded, &c.Failed, &c.Pending); err != nil {
		return []string{"status: " + err.Error() + ": " + line}
	}
	before := int(s.done.Swap(int64(c.Total - c.Pending)))
	if c.Total-c.Pending < before && !s.ending {
		wrong = append(wrong, fmt.Sprintf("status says %d prompts are done, and said %d before", c.Total-c.Pending, before))
	}
	return append(wrong, c.wrong()...)
}

// export renders the files of the unfinished run.
func (s *soak) export(ctx context.Context) (wrong []string) {
	out := filepath.Join(s.dir, "exported")
	defer os.RemoveAll(out)
	e, err := s.program().Run("export", "--run_name="+runName, "--out="+out)
	if err != nil {
		return []string{err.Error()}
	}
	if wrong = e.Wrong(0); len(wrong) > 0 || ctx.Err() != nil {
		return wrong
	}
	return s.whole(out)
}

// whole checks that the merged file of an export has as many rows as its
// statistics say, and not less than the one before.
func (s *soak) whole(dir string) (wrong []string) {
	var c counts
	text, err := os.ReadFile(filepath.Join(dir, "statistics.json"))
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	rows, failed := os.ReadFile(filepath.Join(dir, "trajectories.jsonl"))
	if err != nil || failed != nil {
		return []string{fmt.Sprintf("export: %v, %v", err, failed)}
	}
	if n := bytes.Count(rows, []byte("\n")); n != c.Kept || n < s.exported {
		wrong = append(wrong, "an export has "+strconv.Itoa(n)+" rows, where "+strconv.Itoa(c.Kept)+" are kept, and the one before had "+strconv.Itoa(s.exported))
	}
	s.exported = bytes.Count(rows, []byte("\n"))
	return append(wrong, c.wrong()...)
}
