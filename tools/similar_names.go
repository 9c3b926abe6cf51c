package tools

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"hermes-batch/tools/sandbox"
)

// similarFiles lists files of the folder in which path should be whose names resemble its name,
// at most five, the best first, written as path is.
func similarFiles(files sandbox.Files, path, resolved string) []string {
	const most, look = 5, 2_000
	entries, err := files.ReadDir(filepath.Dir(resolved))
	if err != nil {
		return nil
	}
	type candidate struct {
		name string
		rank int
	}
	var found []candidate
	for _, e := range entries[:min(len(entries), look)] {
		if rank := resemblance(filepath.Base(resolved), e.Name()); rank > 0 && !e.IsDir() {
			found = append(found, candidate{filepath.Join(filepath.Dir(path), e.Name()), rank})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
	var names []string
	for _, c := range found[:min(len(found), most)] {
		names = append(names, c.name)
	}
	return names
}

// resemblance ranks how two file names are alike: 1 is best, 0 is not at all.
func resemblance(want, have string) int {
	want, have = strings.ToLower(want), strings.ToLower(have)
	switch {
	case want == have:
		return 1
	case stem(want) == stem(have):
		return 2
	case editDistance(want, have) <= max(1, len(want)/4):
		return 3
	case overlap(stem(want), stem(have)):
		return 4
	}
	return 0
}

// stem is a file name without its extension; a dot file has none.
func stem(name string) string {
	if ext := filepath.Ext(name); ext != name {
		return strings.TrimSuffix(name, ext)
	}
	return name
}

func overlap(a, b string) bool {
	return min(len(a), len(b)) > 2 && (strings.Contains(a, b) || strings.Contains(b, a))
}

// editDistance counts the bytes to insert, delete or replace to make b of a.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
