package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	bolt "go.etcd.io/bbolt"
)

const (
	hostileTime   = time.Minute
	hostileMemory = 1 << 30 // bytes
)

// storeVerbs are what a user may do with a store that came from somebody else,
// and what each may end with.
var storeVerbs = []struct {
	args  []string
	codes []int
}{
	{[]string{"check", "--store=run.db"}, []int{exitOK, exitStopped}},
	{[]string{"check", "--store=run.db", "--deep"}, []int{exitOK, exitStopped}},
	{[]string{"status", "--store=run.db"}, []int{exitOK, exitStopped}},
	{[]string{"export", "--store=run.db", "--out=out", "--keep_without_reasoning"}, []int{exitOK, exitStopped}},
	{[]string{"--input=data.jsonl", "--output=rows.jsonl", "--model=simulated", "--distribution=calc", "--distribution_file=own.json", "--allow_config_change", "--work_dir=work", "--max_turns=3"},
		[]int{exitOK, exitFailed, exitUsage, exitStopped}},
}

// FuzzHostileStore spoils the store of a small run, at any place of the file or
// in a value that then gets its checksum, and lets the program loose on it.
// Whatever it holds, the program says in words what is wrong, in time and
// without taking much memory.
func FuzzHostileStore(f *testing.F) {
	sound := smallRun(f)
	places := storeKeys(f, sound)
	for verb := range uint8(len(storeVerbs)) {
		f.Add(verb, uint32(0), []byte{0}, false)                                                    // the header
		f.Add(verb, uint32(storePage*3+8), []byte{1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, false) // a page
		f.Add(verb, uint32(0), []byte(`{"id":"\u001b[2J","name":"\u001b]0;x\u0007\n"}`), true)      // the run, or what comes first
		f.Add(verb, uint32(3), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, true)        // numbers
		f.Add(verb, uint32(7), bytes.Repeat([]byte("["), 1_000_000), true)                          // depth
		f.Add(verb, uint32(9), []byte{1, 0x3f, 0xff, 0xff, 0xff, 0x28, 0xb5, 0x2f, 0xfd}, true)     // size
	}
	f.Fuzz(func(t *testing.T, verb uint8, at uint32, patch []byte, sealed bool) {
		dir := t.TempDir()
		path := filepath.Join(dir, "run.db")
		data := bytes.Clone(sound)
		if !sealed {
			copy(data[int(at)%len(data):], patch)
		}
		mustWriteFile(t, path, data)
		if sealed {
			putSealed(t, path, places[int(at)%len(places)], patch)
		}
		v := storeVerbs[int(verb)%len(storeVerbs)]
		if v.args[0] != "check" && v.args[0] != "status" && v.args[0] != "export" {
			mustWriteFile(t, filepath.Join(dir, "rows.jsonl.run", "run.db"), mustReadFile(t, path))
			mustWriteFile(t, filepath.Join(dir, "data.jsonl"), []byte(smallDataset))
			mustWriteFile(t, filepath.Join(dir, "own.json"), []byte(smallDistribution))
		}
		runHostile(t, dir, v.args, v.codes)
	})
}

const (
	smallDataset      = `{"prompt": "What is 17 * 23?", "k": 1}` + "\n" + `{"prompt": "Who are you?"}` + "\n" + `{"prompt": "Who are you? [error 400]"}` + "\nbad\n"
	smallDistribution = `{"calc": {"calculator": 100}}`
)

// storePage is the page size of a new store.
const storePage = 8192

// smallRun makes a run and returns its store, without the room that it has
// grown ahead.
func smallRun(tb testing.TB) []byte {
	tb.Helper()
	dir := tb.TempDir()
	mustWriteFile(tb, filepath.Join(dir, "data.jsonl"), []byte(smallDataset))
	mustWriteFile(tb, filepath.Join(dir, "own.json"), []byte(smallDistribution))
	runHostile(tb, dir, storeVerbs[len(storeVerbs)-1].args, []int{exitFailed})
	data := mustReadFile(tb, filepath.Join(dir, "rows.jsonl.run", "run.db"))
	return slices.Clip(data[:(len(bytes.TrimRight(data, "\x00"))+storePage-1)/storePage*storePage])
}

// place is where a value lies in a store.
type place struct{ bucket, key []byte }

// storeKeys are the places of all values of a store.
func storeKeys(tb testing.TB, store []byte) (places []place) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "run.db")
	mustWriteFile(tb, path, store)
	changeFile(tb, path, func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, in *bolt.Bucket) error {
			return in.ForEach(func(k, _ []byte) error {
				places = append(places, place{bytes.Clone(name), bytes.Clone(k)})
				return nil
			})
		})
	})
	return places
}

// changeFile changes a store behind its back.
func changeFile(tb testing.TB, path string, change func(*bolt.Tx) error) {
	tb.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true, Timeout: time.Second})
	if err != nil {
		tb.Fatal(err)
	}
	if err := errors.Join(db.Update(change), db.Close()); err != nil {
		tb.Fatal(err)
	}
}

// putSealed puts a value with its checksum.
func putSealed(tb testing.TB, path string, at place, value []byte) {
	tb.Helper()
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(crc32.Checksum(at.key, table), table, value)
	changeFile(tb, path, func(tx *bolt.Tx) error {
		return tx.Bucket(at.bucket).Put(at.key, binary.BigEndian.AppendUint32(bytes.Clone(value), sum))
	})
}

var panicText = regexp.MustCompile(`goroutine \d|panic:|fatal error:|runtime error|SIG[A-Z]{3}`)

// runHostile runs the program in dir and holds it to its promises.
func runHostile(tb testing.TB, dir string, args []string, codes []int) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), os.Args[0], args...)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	cmd.Env = append(os.Environ(), asProgram+"=1", "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	timer := time.AfterFunc(hostileTime, func() { _ = cmd.Process.Kill() })
	err := cmd.Run()
	if !timer.Stop() {
		tb.Fatalf("%q does not end", args)
	}
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		tb.Fatal(err)
	}
	text := out.String()
	if code := cmd.ProcessState.ExitCode(); !slices.Contains(codes, code) || panicText.MatchString(text) {
		tb.Errorf("%q: exit code %d: %s", args, code, text)
	}
	if hostile := strings.IndexFunc(text, controls); hostile >= 0 {
		tb.Errorf("%q prints control characters: %q", args, text)
	}
	if most := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10; most > hostileMemory {
		tb.Errorf("%q takes %d bytes of memory", args, most)
	}
}

// controls tells characters that can control a terminal, or hide what it shows.
func controls(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
}

func mustReadFile(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// mustWriteFile writes a file, and the folder for it.
func mustWriteFile(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, data, 0o666)); err != nil {
		tb.Fatal(err)
	}
}
