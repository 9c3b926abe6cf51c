package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// settledFile lies beside the sandboxes of a run. Its last line is the boot id
// of the machine at whose end all of them were on the disk, but for those that
// the lines before name.
const settledFile = "settled"

// Settle makes everything in the sandboxes of a folder durable, and notes that
// for Adopt. This program may not use any of them; those in which a command
// still runs that outlived an earlier one are not settled. A row's absolute cwd
// on another disk is not among it.
func Settle(folder string) error {
	dir, err := os.Open(folder)
	if err != nil {
		return fmt.Errorf("settle sandboxes: %w", err)
	}
	defer dir.Close()
	note, err := inUse(folder)
	if err != nil {
		return fmt.Errorf("settle sandboxes: %w", err)
	}
	note = append(note, bootID()) // last, so that half a note is none
	if err := unix.Syncfs(int(dir.Fd())); err != nil {
		return fmt.Errorf("settle sandboxes in %s: %w", folder, err)
	}
	f, err := os.OpenFile(filepath.Join(folder, settledFile), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("settle sandboxes: %w", err)
	}
	_, err = f.WriteString(strings.Join(note, "\n") + "\n")
	if err := errors.Join(err, f.Sync(), f.Close(), dir.Sync()); err != nil {
		return fmt.Errorf("settle sandboxes: %w", err)
	}
	return nil
}

// inUse returns the names of the sandboxes in a folder in which commands run.
func inUse(folder string) (names []string, err error) {
	boxes, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, box := range boxes {
		calls := filepath.Join(folder, box.Name(), callsFolder)
		keys, err := os.ReadDir(calls)
		if err != nil {
			continue // no sandbox
		}
		for _, key := range keys {
			held, err := call{filepath.Join(calls, key.Name())}.held()
			if err != nil {
				return nil, err
			}
			if held {
				names = append(names, box.Name())
				break
			}
		}
	}
	return names, nil
}

// Adopt is called before any sandbox of a folder is used. Those that Settle left
// there under another start of the machine may be opened again from then on; all
// others of that time are lost, since nothing of theirs was synced.
func Adopt(folder string) error {
	path := filepath.Join(folder, settledFile)
	note, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("adopt sandboxes: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(note)), "\n")
	last := len(lines) - 1
	if err := adopt(folder, lines[:last], lines[last], bootID()); err != nil {
		return fmt.Errorf("adopt sandboxes: %w", err)
	}
	// What is done in them from here on is not settled, and must not look so
	// after the next restart.
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("adopt sandboxes: %w", err)
	}
	dir, err := os.Open(folder)
	if err != nil {
		return fmt.Errorf("adopt sandboxes: %w", err)
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// adopt makes the sandboxes of one start of the machine ones of another, but
// for those that were in use.
func adopt(folder string, used []string, before, now string) error {
	if before == now {
		return nil
	}
	list, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range list {
		base := filepath.Join(folder, e.Name())
		nonce, boot, err := readNonce(base)
		if err != nil || boot != before || slices.Contains(used, e.Name()) {
			continue // no sandbox, or one that was not settled
		}
		if err := writeNonce(base, nonce, now); err != nil {
			return err
		}
	}
	return nil
}
