package flags

import (
	"regexp"
	"sync"
)

// lazy compiles a pattern when it is first used: the program also starts as
// the supervisor of single commands, and must then start fast.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
