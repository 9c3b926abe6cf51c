//go:build !linux && !darwin

package flags

import "os"

// terminalColumns returns 0: the width is not known here.
func terminalColumns(*os.File) int { return 0 }
