package shipped

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is one that a run has started: the supervisor of a command, or what a
// command started.
type process struct {
	pid  int
	line string // its command line
}

// startedIn finds the processes whose environment names a folder, as that of
// all commands names their work folder.
func startedIn(dir string) (list []process) {
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		env, err := os.ReadFile(path) // of one that has ended it is empty
		if err != nil || pid == os.Getpid() || !bytes.Contains(env, []byte("HOME="+dir+"/")) {
			continue
		}
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		list = append(list, process{pid, strings.ReplaceAll(strings.TrimRight(string(line), "\x00"), "\x00", " ")})
	}
	return list
}

// KillAll ends everything that runs in a folder have started, and tells how many
// processes that were.
func KillAll(dir string) (killed int) {
	for list := startedIn(dir); len(list) > 0; list = startedIn(dir) {
		for _, p := range list {
			if syscall.Kill(p.pid, syscall.SIGKILL) == nil {
				killed++
			}
		}
		time.Sleep(time.Millisecond)
	}
	return killed
}

// Left waits for processes to end that are told to, and names those that do not.
func Left(dir string) (names []string) {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		list := startedIn(dir)
		if len(list) == 0 {
			return nil
		}
		if time.Now().After(end) {
			for _, p := range list {
				names = append(names, fmt.Sprintf("process %d is left: %s", p.pid, p.line))
			}
			return names
		}
	}
}
