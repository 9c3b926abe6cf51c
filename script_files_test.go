package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// Commands of scripts for files:
//
//	keep NAME PATTERN…   remembers files and folders with their content
//	same NAME            they are as they were
//	appears FILE         waits until it is there
//	rows FILE N          N lines, each a row, in the order of prompt_index
//	corrupt FILE TEXT    changes a letter wherever the text stands
//	[!] nowhere TEXT PATH…  no file at or below the paths holds the text
//	tmpfs FOLDER BYTES   mounts a file system of that size, see [mount]
//	fill FILE BYTES      writes until so many bytes are free

// tree is what stands at some paths: mode and content by path.
type tree map[string]string

var treeSeed = maphash.MakeSeed()

// readTree reads paths and all below them.
func readTree(ts *testscript.TestScript, paths ...string) tree {
	t := tree{}
	for _, path := range paths {
		ts.Check(filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			t[path] = info.Mode().String()
			if info.Mode().IsRegular() {
				data, err := os.ReadFile(path)
				t[path] += fmt.Sprintf(" %d bytes %x", len(data), maphash.Bytes(treeSeed, data))
				return err
			}
			return nil
		}))
	}
	return t
}

// differences names what changed, "" if nothing did.
func (t tree) differences(now tree) string {
	var out []string
	for path, was := range t {
		if now[path] == "" {
			out = append(out, path+" is gone")
		} else if now[path] != was {
			out = append(out, path+" changed")
		}
	}
	for path := range now {
		if t[path] == "" {
			out = append(out, path+" is new")
		}
	}
	return strings.Join(out, ", ")
}

func cmdKeep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: keep NAME PATTERN…")
	}
	s := scriptOf(ts)
	s.patterns[args[0]] = args[1:]
	s.kept[args[0]] = matching(ts, args[1:])
	if len(s.kept[args[0]]) == 0 {
		ts.Fatalf("no such files")
	}
}

func matching(ts *testscript.TestScript, patterns []string) tree {
	var paths []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(ts.MkAbs(pattern))
		ts.Check(err)
		paths = append(paths, found...)
	}
	return readTree(ts, paths...)
}

func cmdSame(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: same NAME")
	}
	s := scriptOf(ts)
	if diff := s.kept[args[0]].differences(matching(ts, s.patterns[args[0]])); diff != "" {
		ts.Fatalf("%s", diff)
	}
}

func cmdAppears(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: appears FILE")
	}
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("it does not appear")
		}
	}
}

func cmdRows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: rows FILE N")
	}
	lines := bufio.NewScanner(strings.NewReader(ts.ReadFile(args[0])))
	lines.Buffer(nil, 64<<20)
	n, last := 0, -1
	for ; lines.Scan(); n++ {
		var row struct {
			Index         *int              `json:"prompt_index"`
			Conversations []json.RawMessage `json:"conversations"`
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil || row.Index == nil || len(row.Conversations) == 0 {
			ts.Fatalf("line %d is no row: %v", n+1, err)
		}
		if *row.Index <= last {
			ts.Fatalf("prompt %d stands after prompt %d", *row.Index, last)
		}
		last = *row.Index
	}
	ts.Check(lines.Err())
	if strconv.Itoa(n) != args[1] {
		ts.Fatalf("%d rows, expected %s", n, args[1])
	}
}

func cmdCorrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: corrupt FILE TEXT")
	}
	path := ts.MkAbs(args[0])
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	ts.Check(err)
	defer f.Close()
	data, text := []byte(ts.ReadFile(args[0])), []byte(args[1])
	found := 0
	for at := bytes.Index(data, text); at >= 0; found++ {
		_, err := f.WriteAt([]byte{data[at] ^ 0x20}, int64(at))
		ts.Check(err)
		next := bytes.Index(data[at+1:], text)
		if next < 0 {
			break
		}
		at += 1 + next
	}
	if found == 0 && !bytes.Contains(data, text) {
		ts.Fatalf("the text is not there")
	}
}

func cmdNowhere(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: [!] nowhere TEXT PATH…")
	}
	found := ""
	for _, root := range args[1:] {
		ts.Check(filepath.WalkDir(ts.MkAbs(root), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if bytes.Contains(data, []byte(args[0])) {
				found = path
			}
			return err
		}))
	}
	if found != "" != neg {
		ts.Fatalf("found in %q", found)
	}
}

func cmdTmpfs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tmpfs FOLDER BYTES")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o777))
	ts.Check(mountTmpfs(dir, args[1]))
	ts.Defer(func() { unmount(dir) })
}

func mountTmpfs(dir, size string) error {
	out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("mount: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// unmount also works while a program that was killed is still on its way out.
func unmount(dir string) { _ = exec.Command("umount", "--lazy", dir).Run() }

// scriptCondition knows [mount]: whether file systems can be mounted here. On
// a build machine they have to be.
func scriptCondition(name string) (bool, error) {
	if name != "mount" {
		return false, fmt.Errorf("no such condition")
	}
	dir, err := os.MkdirTemp("", "mount")
	if err != nil {
		return false, err
	}
	defer os.Remove(dir)
	err = mountTmpfs(dir, "64k")
	unmount(dir)
	if err != nil && os.Getenv("CI") != "" {
		return false, err
	}
	return err == nil, nil
}

func cmdFill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fill FILE BYTES")
	}
	leave, err := strconv.ParseUint(args[1], 10, 64)
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	for block := make([]byte, 4096); ; {
		var disk syscall.Statfs_t
		ts.Check(syscall.Statfs(f.Name(), &disk))
		if disk.Bavail*uint64(disk.Bsize) <= leave {
			return
		}
		if _, err := f.Write(block); err != nil && !errors.Is(err, syscall.ENOSPC) {
			ts.Check(err)
		}
	}
}
