package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// picture is what a run's folder shows to its user, file by file.
type picture map[string][]byte

// depict reads the files of a complete run. The store is in them by its name
// alone.
func depict(dir string) (picture, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	p := picture{}
	for _, e := range list {
		p[e.Name()] = nil
		if e.Name() == "run.db" {
			continue
		}
		if p[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// license says in what a run may differ from an uninterrupted one.
type license struct {
	forked bool // sandboxes were taken away: attempts, and what was spent
	rows   bool // tools may have met errors: which rows there are counts, not what they hold
}

// against compares the files of a complete run with those of an uninterrupted
// one, and returns what is wrong.
func (p picture) against(calm picture, may license) (wrong []string) {
	for name := range p {
		if _, ok := calm[name]; !ok {
			wrong = append(wrong, "an uninterrupted run has no file "+name)
		}
	}
	for name, want := range calm {
		got, ok := p[name]
		switch {
		case !ok:
			wrong = append(wrong, name+" is missing")
		case name == "run.db" || filepath.Ext(name) == ".parquet": // is compared with what the store renders
		case may.rows && filepath.Ext(name) == ".jsonl":
			wrong = append(wrong, differ(name, indices(got), indices(want))...)
		case may.rows && name == "statistics.json": // counts what the tools did
		case filepath.Ext(name) == ".json":
			wrong = append(wrong, differ(name, []string{table(got, may)}, []string{table(want, may)})...)
		default:
			wrong = append(wrong, differ(name, lines(got, may), lines(want, may))...)
		}
	}
	slices.Sort(wrong)
	return append(wrong, p.sums(calm)...)
}

// differ finds the first line in which two files differ.
func differ(name string, got, want []string) []string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got), i >= len(want):
			return []string{fmt.Sprintf("%s has %d lines, an uninterrupted run's %d", name, len(got), len(want))}
		case got[i] != want[i]:
			return []string{fmt.Sprintf("%s line %d differs from an uninterrupted run's:\n  %s\n  %s", name, i+1, around(got[i], want[i]), around(want[i], got[i]))}
		}
	}
	return nil
}

// around cuts a text to what is near its first difference from another.
func around(text, other string) string {
	at := 0
	for at < min(len(text), len(other)) && text[at] == other[at] {
		at++
	}
	return fmt.Sprintf("…%.200s", text[max(0, at-80):])
}

var (
	varies     = regexp.MustCompile(`"timestamp":"[^"]*"|"tool_reruns":\d+|"tries":\d+| \(\d+ tr(y|ies)\)`)
	attempts   = regexp.MustCompile(`"attempts":\d+`)
	workFolder = regexp.MustCompile(`[^"\\\s]*?/state/[0-9a-f-]{36}/\d+-\d+-a\d+`)
)

// lines are those of a file of rows without what may differ between two runs.
func lines(text []byte, may license) []string {
	text = workFolder.ReplaceAll(varies.ReplaceAll(text, nil), []byte("WORK"))
	if may.forked {
		text = attempts.ReplaceAll(text, nil)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

var index = regexp.MustCompile(`"(prompt_)?index":\d+`)

// indices are the prompts of a file of rows.
func indices(text []byte) (list []string) {
	for line := range bytes.Lines(text) {
		list = append(list, string(index.Find(line)))
	}
	return list
}

// table is a JSON file without what may differ between two runs.
func table(text []byte, may license) string {
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return fmt.Sprintf("no JSON: %v", err)
	}
	for _, key := range []string{"completed_at", "last_updated", "duration_seconds", "durations"} {
		delete(all, key)
	}
	if usage, ok := all["usage"].(map[string]any); ok && may.forked {
		delete(usage, "spent")
	}
	out, err := json.Marshal(all)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// counts are those of statistics.json: each prompt is one of them.
type counts struct {
	Total, Kept, Filtered, Discarded, Failed, Pending int
}

// sums checks that each prompt is counted once, and none is pending.
func (p picture) sums(calm picture) (wrong []string) {
	var got, want counts
	if err := json.Unmarshal(p["statistics.json"], &got); err != nil {
		return []string{"statistics.json: " + err.Error()}
	}
	if err := json.Unmarshal(calm["statistics.json"], &want); err != nil {
		return []string{"statistics.json of the uninterrupted run: " + err.Error()}
	}
	if sum := got.Kept + got.Filtered + got.Discarded + got.Failed + got.Pending; got.Total != sum || got.Total != want.Total || got.Pending != 0 {
		wrong = append(wrong, fmt.Sprintf("the counts do not add up: %+v", got))
	}
	return wrong
}

// equal compares the files of a run with what its store renders anew.
func (p picture) equal(rendered picture) (wrong []string) {
	for name, want := range rendered {
		if strings.HasPrefix(name, ".") { // says that the folder is an export
			continue
		}
		if got, ok := p[name]; !ok || !bytes.Equal(got, want) {
			wrong = append(wrong, name+" is not what the store renders")
		}
	}
	return wrong
}
