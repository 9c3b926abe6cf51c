//go:build race

package engine

// underRace says that the race detector slows everything down some ten times.
const underRace = true
