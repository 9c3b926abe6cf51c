package db

import (
	"log/slog"
	"os"
)

func inspect(f *os.File, log *slog.Logger) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() == 0 || !info.Mode().IsRegular() {
		return ErrNotStore
	}
	return nil
}
