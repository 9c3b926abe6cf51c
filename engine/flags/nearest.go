package flags

import (
	"flag"
	"strings"
)

// Nearest returns that of names which a mistyped name most likely means, ""
// if none is near. Dashes stand for underscores, and case does not count.
func Nearest(name string, names []string) string {
	name = strings.ToLower(strings.ReplaceAll(clipped(name), "-", "_"))
	best, least := "", max(1, min(3, len(name)/3))+1
	for _, known := range names {
		if d := distance(name, known); d < least {
			best, least = known, d
		}
	}
	return best
}

// suggestion asks for the flag whose name is nearest to a name that does not
// exist, "" if none is near.
func suggestion(fs *flag.FlagSet, name, dashes string) string {
	var names []string
	fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	if best := Nearest(name, names); best != "" {
		return "; did you mean " + dashes + best + "?"
	}
	return ""
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
