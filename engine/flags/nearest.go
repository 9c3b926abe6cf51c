package flags

import (
	"flag"
	"strings"
)

// suggestion asks for the flag whose name is nearest to a name that does not
// exist, "" if none is near.
func suggestion(fs *flag.FlagSet, name, dashes string) string {
	name = strings.ToLower(strings.ReplaceAll(clipped(name), "-", "_"))
	best, least := "", max(1, min(3, len(name)/3))+1
	fs.VisitAll(func(f *flag.Flag) {
		if d := distance(name, f.Name); d < least {
			best, least = f.Name, d
		}
	})
	if best == "" {
		return ""
	}
	return "; did you mean " + dashes + best + "?"
}

// distance counts the letters to insert, drop, replace or swap with their
// neighbour to make b of a.
func distance(a, b string) int {
	before, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, prev, row = prev, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
