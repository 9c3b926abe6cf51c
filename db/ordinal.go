package db

import "fmt"

// rolloutBits is the room that an Ordinal leaves for rollouts of one prompt.
const rolloutBits = 16

// Ordinal is one session's place: prompt index << 16 | rollout. It sorts as
// the rows of an export sort.
type Ordinal uint64

// MakeOrdinal returns the place of a rollout (0 to 65535) of the prompt with
// that index.
func MakeOrdinal(index, rollout int) Ordinal {
	return Ordinal(index)<<rolloutBits | Ordinal(rollout)&(1<<rolloutBits-1)
}

// Index is the prompt's index.
func (o Ordinal) Index() int { return int(o >> rolloutBits) }

// Rollout is the number of the rollout.
func (o Ordinal) Rollout() int { return int(o & (1<<rolloutBits - 1)) }

// String returns "prompt 7", and "prompt 7 rollout 2" but for the first rollout.
func (o Ordinal) String() string {
	if o.Rollout() == 0 {
		return fmt.Sprintf("prompt %d", o.Index())
	}
	return fmt.Sprintf("prompt %d rollout %d", o.Index(), o.Rollout())
}
