package ctl

import (
	"io/fs"
	"os"
	"syscall"
)

// ownFile reports whether the file belongs to the user that this process
// acts as.
func ownFile(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
