package db

import (
	"slices"
	"testing"
)

func TestIndices(t *testing.T) {
	var x Indices
	in := []int{0, 63, 64, 5000, 100_000}
	for _, i := range append(in, 1, 5001) {
		x.Add(i)
		x.Add(i)
	}
	for _, i := range []int{1, 5001, 2, 1 << 40} {
		x.Remove(i)
	}
	for i := range 100_200 {
		if x.Has(i) != slices.Contains(in, i) {
			t.Errorf("Has(%d) is %t", i, x.Has(i))
		}
	}
	if got := slices.Collect(x.All()); !slices.Equal(got, in) || x.Len() != len(in) {
		t.Errorf("the set of %d has %v", x.Len(), got)
	}
	for i := range x.All() {
		if i > 63 {
			t.Errorf("goes on to %d", i)
		}
		if i == 63 {
			break
		}
	}
}
