package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"hermes-batch/export"
	"hermes-batch/testdata/shipped"
)

// files holds the files of the run against the verdicts, against what they have
// to say, and against what the store renders.
func (s *soak) files(v verdicts) error {
	text, err := os.ReadFile(s.folder("statistics.json"))
	if err == nil {
		err = json.Unmarshal(text, &s.found.counts)
	}
	if err != nil {
		return err
	}
	kept, filtered, discarded, failed := v.of(export.Kept), v.of(export.Filtered), v.of(export.Discarded), v.of(export.Failed)
	if want := (counts{s.planned, len(kept), len(filtered), len(discarded), len(failed), 0}); s.found.counts != want {
		s.say("statistics.json", fmt.Sprintf("counts %+v, where there are %+v", s.found.counts, want))
	}
	s.lists("trajectories.jsonl", kept, s.row)
	s.lists("batch_*.jsonl", v.of(export.Kept, export.Filtered), nil)
	s.lists("errors.jsonl", failed, nil)
	s.completed(v.of(export.Kept, export.Filtered, export.Discarded))
	return s.rendered()
}

// lists checks that files have a line for each of these prompts, and lets look at
// the lines.
func (s *soak) lists(pattern string, want []int, look func(line []byte) (wrong []string)) {
	paths, _ := filepath.Glob(s.folder(pattern))
	var got []int
	for _, path := range paths {
		err := eachLine(path, func(line []byte) {
			var row struct {
				PromptIndex int `json:"prompt_index"`
			}
			if err := json.Unmarshal(line, &row); err != nil {
				s.say(filepath.Base(path), err.Error())
				return
			}
			got = append(got, row.PromptIndex)
			if look != nil {
				s.say(fmt.Sprintf("%s, prompt %d", filepath.Base(path), row.PromptIndex), look(line)...)
			}
		})
		if err != nil {
			s.say(filepath.Base(path), err.Error())
		}
	}
	if len(paths) == 1 && !slices.IsSorted(got) {
		s.say(pattern, "is not sorted")
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		s.say(pattern, fmt.Sprintf("has %d prompts, not the %d that it should", len(got), len(want)))
	}
}

func eachLine(path string, fn func(line []byte)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		fn(line)
	}
}

// completed checks the list of checkpoint.json.
func (s *soak) completed(want []int) {
	var c struct {
		Completed []int `json:"completed_prompts"`
	}
	text, err := os.ReadFile(s.folder("checkpoint.json"))
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil || !slices.Equal(c.Completed, want) {
		s.say("checkpoint.json", fmt.Sprintf("has %d prompts, not the %d that are finished: %v", len(c.Completed), len(want), err))
	}
}

// rendered compares the files with what the store renders.
func (s *soak) rendered() error {
	anew := filepath.Join(s.dir, "rendered")
	defer os.RemoveAll(anew)
	e, err := s.program().Run("export", "--run_name="+runName, "--out="+anew)
	if err != nil {
		return err
	}
	s.say("export", e.Wrong(0)...)
	want, err := sums(anew)
	if err != nil {
		return err
	}
	got, err := sums(s.folder())
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			s.say(name, "is not what the store renders")
		}
		delete(got, name)
	}
	for name := range got {
		if name != "run.db" {
			s.say("files", name+" is left")
		}
	}
	return nil
}

// sums are those of the files of a folder, but for the mark of an export and the
// store.
func sums(dir string) (map[string][sha256.Size]byte, error) {
	list, err := os.ReadDir(dir)
	all := map[string][sha256.Size]byte{}
	for _, e := range list {
		if e.Name() == ".hermes-batch-export" {
			continue
		}
		h := sha256.New()
		if e.Name() != "run.db" {
			f, err := os.Open(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			_, err = io.Copy(h, f)
			f.Close()
			if err != nil {
				return nil, err
			}
		}
		all[e.Name()] = [sha256.Size]byte(h.Sum(nil))
	}
	return all, err
}

var box = regexp.MustCompile(`^(\d+)-0-a\d+$`)

// left looks for what should be gone: processes, sockets, work folders but those
// of prompts that a resume would try again, with a note that they are on the
// disk.
func (s *soak) left(v verdicts) {
	s.say("processes", shipped.Left(s.dir)...)
	list, _ := filepath.Glob(filepath.Join(s.temporary(), "*"))
	if len(list) > 0 {
		s.say("temporary folder", fmt.Sprintf("%v are left", list))
	}
	boxes, _ := filepath.Glob(filepath.Join(s.dir, "state", "*", "*"))
	for _, path := range boxes {
		n := -1
		if m := box.FindStringSubmatch(filepath.Base(path)); m != nil {
			n = numberOf(m[1] + ": ")
		}
		if note := filepath.Base(path) == "settled" && len(boxes) > 1; v[n] != export.Failed && !note {
			s.say("work folders", path+" is left")
		}
	}
}
