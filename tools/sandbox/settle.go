package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// settledFile lies beside the sandboxes of a run and holds the boot id of the
// machine at whose end all of them were on the disk.
const settledFile = "settled"

// Settle makes everything in the sandboxes of a folder durable, and notes that
// for Adopt. None of them may be in use. A row's absolute cwd on another disk is
// not among it.
func Settle(folder string) error {
	dir, err := os.Open(folder)
	if err != nil {
		return fmt.Errorf("settle sandboxes: %w", err)
	}
	defer dir.Close()
	if err := unix.Syncfs(int(dir.Fd())); err != nil {
		return fmt.Errorf("settle sandboxes in %s: %w", folder, err)
	}
	f, err := os.OpenFile(filepath.Join(folder, settledFile), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("settle sandboxes: %w", err)
	}
	_, err = f.WriteString(bootID() + "\n")
	if err := errors.Join(err, f.Sync(), f.Close(), dir.Sync()); err != nil {
		return fmt.Errorf("settle sandboxes: %w", err)
	}
	return nil
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
	if err := adopt(folder, strings.TrimSpace(string(note)), bootID()); err != nil {
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

// adopt makes the sandboxes of one start of the machine ones of another.
func adopt(folder, before, now string) error {
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
		if err != nil || boot != before {
			continue // no sandbox, or one that was not settled
		}
		if err := writeNonce(base, nonce, now); err != nil {
			return err
		}
	}
	return nil
}
