// Package leak tells what tests leave behind in their process: goroutines and
// open files. A package's TestMain ends with
//
//	os.Exit(leak.Check(m.Run()))
package leak

import (
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// patience is how long goroutines may take to end after the tests.
const patience = 10 * time.Second

// before are the files that were open when the program began.
var before = files()

// Check returns the exit code of tests that ended with code: 1 if they passed
// and left something behind, which is printed then.
func Check(code int) int {
	if code != 0 || fuzzing() {
		return code
	}
	left := Left()
	for end := time.Now().Add(patience); len(left) > 0 && time.Now().Before(end); left = Left() {
		time.Sleep(10 * time.Millisecond)
	}
	for _, what := range left {
		fmt.Fprintln(os.Stderr, "left behind:", what)
	}
	if len(left) > 0 {
		return 1
	}
	return 0
}

// fuzzing tells a process that looks for new inputs: it ends as it pleases.
func fuzzing() bool {
	f := flag.Lookup("test.fuzz")
	return f != nil && f.Value.String() != ""
}

// Left lists the goroutines that a program without work does not have, and the
// files that are open and were not when it began.
func Left() []string {
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	left := goroutines()
	for fd, name := range files() {
		if before[fd] != name {
			left = append(left, fmt.Sprintf("file %s, %s", fd, name))
		}
	}
	return left
}

// ours are functions at the bottom of goroutines that belong to the runtime or
// to the testing package, or of the caller itself.
var ours = []string{"os/signal.loop(", "testing.(*T).Run(", "testing.runTests(", "testing.(*M).", "runtime.ensureSigM", "hermes-batch/testdata/leak.goroutines("}

// goroutines are the stacks of those that are neither the caller nor the
// runtime's own.
func goroutines() []string {
	stacks := make([]byte, 1<<20)
	for {
		n := runtime.Stack(stacks, true)
		if n < len(stacks) {
			stacks = stacks[:n]
			break
		}
		stacks = make([]byte, 2*len(stacks))
	}
	var left []string
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if !slices.ContainsFunc(ours, func(f string) bool { return strings.Contains(stack, f) }) {
			left = append(left, stack)
		}
	}
	return left
}

// files are the open ones: what each number stands for. What the runtime waits
// for input with is none of them.
func files() map[string]string {
	const dir = "/proc/self/fd"
	open := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if name, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil { // else it was that of the folder
			open[e.Name()] = name
		}
	}
	maps.DeleteFunc(open, func(_, name string) bool { return name == "anon_inode:[eventpoll]" || name == "anon_inode:[eventfd]" })
	return open
}
