//go:build linux || darwin

package flags

import (
	"os"
	"syscall"
	"unsafe"
)

// terminalColumns returns the width of the terminal that f is, 0 if it is
// none.
func terminalColumns(f *os.File) int {
	var size struct{ rows, columns, x, y uint16 }
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	if errno != 0 {
		return 0
	}
	return int(size.columns)
}
