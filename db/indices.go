package db

import (
	"iter"
	"math/bits"
)

// Indices is a set of prompt indices, one bit for each up to the highest. The
// zero value is empty. It may not be changed while others use it.
type Indices []uint64

// Has tells whether an index is in the set.
func (x Indices) Has(i int) bool { return i>>6 < len(x) && x[i>>6]>>(i&63)&1 == 1 }

// Add puts an index into the set.
func (x *Indices) Add(i int) {
	if missing := i>>6 + 1 - len(*x); missing > 0 {
		*x = append(*x, make([]uint64, missing)...)
	}
	(*x)[i>>6] |= 1 << (i & 63)
}

// Remove takes an index out of the set.
func (x Indices) Remove(i int) {
	if i>>6 < len(x) {
		x[i>>6] &^= 1 << (i & 63)
	}
}

// Len returns how many indices are in the set.
func (x Indices) Len() (n int) {
	for _, word := range x {
		n += bits.OnesCount64(word)
	}
	return n
}

// All yields the indices in ascending order.
func (x Indices) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for at, word := range x {
			for ; word != 0; word &= word - 1 {
				if !yield(at*64 + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}
