package engine

import (
	"cmp"
	"slices"

	"hermes-batch/db"
)

// place is where a row of the dataset belongs: a registered prompt, or a new
// copy of its content.
type place struct {
	index int // of the registered prompt; -1: new
	copy  uint32
	extra db.Hash // of the registered prompt's other keys
}

// matchRows gives each row of one content its place: first the rows whose
// other keys equal a copy's, then the rest to the most advanced copies that
// are left, then to new copies. extras holds the rows' keys in file order.
func matchRows(extras [][8]byte, copies []db.Copy) []place {
	free := slices.Clone(copies)
	slices.SortStableFunc(free, func(a, b db.Copy) int { return cmp.Compare(advance(b), advance(a)) })
	equal := map[[8]byte][]int{} // free copies by their other keys
	for i, c := range free {
		keys := [8]byte(c.Extra[:8])
		equal[keys] = append(equal[keys], i)
	}
	places := make([]place, len(extras))
	placed := make([]bool, len(extras))
	taken := make([]bool, len(free))
	for row, keys := range extras {
		if same := equal[keys]; len(same) > 0 {
			places[row], placed[row], taken[same[0]] = placeOf(free[same[0]]), true, true
			equal[keys] = same[1:]
		}
	}
	at, next := 0, nextCopy(copies)
	for row := range extras {
		if placed[row] {
			continue
		}
		for at < len(free) && taken[at] {
			at++
		}
		if at < len(free) {
			places[row] = placeOf(free[at])
			at++
			continue
		}
		places[row] = place{index: -1, copy: next}
		next++
	}
	return places
}

func placeOf(c db.Copy) place { return place{c.Index, c.Copy, c.Extra} }

// advance orders copies by how far they are.
func advance(c db.Copy) int {
	if c.Finished {
		return 1 << 40
	}
	return c.Steps
}

func nextCopy(copies []db.Copy) (next uint32) {
	for _, c := range copies {
		next = max(next, c.Copy+1)
	}
	return next
}
