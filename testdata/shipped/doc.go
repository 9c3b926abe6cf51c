// Package shipped starts the binary of this tree as users start it, for the
// programs of this folder that measure and torment it, tells how it ended, and
// finds the processes that it left. Their main functions share what is in
// command.go.
package shipped
