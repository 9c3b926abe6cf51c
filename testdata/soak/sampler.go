package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// sample is what the program takes at one moment.
type sample struct {
	at          time.Duration // since the soak began
	anonymous   int64         // bytes of memory
	descriptors int
	threads     int
	children    int
	store       int64 // bytes
	done        int   // prompts with an outcome
}

const sampling = time.Second

// watch takes samples of a process until it or the context ends.
func (s *soak) watch(ctx context.Context, pid int) {
	for sleep(ctx, sampling) {
		now := sample{at: time.Since(s.began), done: int(s.done.Load()), children: childrenOf(pid)}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return
		}
		now.anonymous = number(string(status), "RssAnon") << 10
		now.threads = int(number(string(status), "Threads"))
		if open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)); err == nil {
			now.descriptors = len(open)
		}
		if info, err := os.Stat(s.folder("run.db")); err == nil {
			now.store = info.Size()
		}
		if now.anonymous > 0 && now.descriptors > 0 { // else it is about to end
			s.samples = append(s.samples, now)
		}
	}
}

// number reads a line "name: number" of a process's status; 0 if there is none.
func number(status, name string) int64 {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n
		}
	}
	return 0
}

// childrenOf counts the processes that a process has started and that have not
// been waited for.
func childrenOf(pid int) (n int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			n++
		}
	}
	return n
}
