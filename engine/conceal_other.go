//go:build !linux

package engine

// Conceal does nothing on this system.
func Conceal() {}
