package db

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

var (
	// ErrNotFound is returned when a store, or what was asked of it, does not exist.
	ErrNotFound = errors.New("not found")

	// ErrExists is returned when Create finds that its path is taken.
	ErrExists = errors.New("store exists already")

	// ErrNotStore is returned when a file is something else than a store of this program.
	ErrNotStore = errors.New("not a hermes-batch store")

	// ErrNewer is returned when a store has a format version that this program does not know.
	ErrNewer = errors.New("store has a newer format")

	// ErrDamaged is returned when the bytes of a store contradict each other.
	ErrDamaged = errors.New("store damaged")

	// ErrLocked is returned, as a *LockedError, when another process holds the store.
	ErrLocked = errors.New("store locked")

	// ErrFailed is returned by everything that writes after a commit has failed, and by that commit.
	ErrFailed = errors.New("store failed")

	// ErrGone is returned by a commit that finds that the file was removed or replaced while it was open.
	ErrGone = errors.New("store file was removed or replaced while it was in use")

	// ErrClosed is returned when a store is used after Close.
	ErrClosed = errors.New("store closed")

	// ErrReadOnly is returned when a store that was opened to read is asked to write.
	ErrReadOnly = errors.New("store opened read only")

	// ErrConflict is returned when a write contradicts what is committed already.
	ErrConflict = errors.New("conflict with committed data")

	// ErrTooLarge is returned when a value exceeds the gigabyte that one value may have, or a session what can be read of one.
	ErrTooLarge = errors.New("value too large")
)

// LockedError says who holds a store. Its zero fields mean that the holder did
// not say, or that what it said is out of date.
type LockedError struct {
	Path   string    `json:"-"`
	PID    int       `json:"pid"`
	Host   string    `json:"host"`
	Since  time.Time `json:"since"`
	Socket string    `json:"socket,omitempty"` // where the holder answers questions, "" if nowhere
}

// Error names the store and its holder.
func (e *LockedError) Error() string {
	var b strings.Builder
	b.WriteString("store ")
	if e.Path != "" {
		b.WriteString(e.Path + " ")
	}
	b.WriteString("is locked by ")
	if e.PID == 0 {
		b.WriteString("another process")
		return b.String()
	}
	fmt.Fprintf(&b, "process %d on %s since %s", e.PID, e.Host, e.Since.Format(time.RFC3339))
	return b.String()
}

// Is makes errors.Is(err, ErrLocked) true.
func (e *LockedError) Is(target error) bool { return target == ErrLocked }

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}
