package db

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-batch/testdata/machine"
)

func isAbout(err error) string {
	words := []string{}
	for _, e := range []error{ErrFailed, syscall.ENOSPC, syscall.EFBIG} {
		if errors.Is(err, e) || err != nil && strings.Contains(err.Error(), e.Error()) { // bbolt wraps some only in words
			words = append(words, e.Error())
		}
	}
	return strings.Join(words, ", ")
}

// TestKilledWriter kills a process that writes, over and over, and looks for
// everything that it said was durable.
func TestKilledWriter(t *testing.T) {
	s := newStore(t)
	register(t, s, 16)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	acked, outcomes := map[[3]uint64]string{}, map[uint64][2]uint64{}
	for round := range 8 {
		c := startChild(t, "write", s.Path(), nil)
		kill := time.AfterFunc(time.Duration(30+37*round)*time.Millisecond, func() { _ = c.cmd.Process.Kill() })
		readAcks(t, c.lines, acked, outcomes)
		kill.Stop()
		_ = c.cmd.Wait()
		r := openStore(t, s.Path(), Options{ReadOnly: round%2 == 0})
		mustHold(t, r, acked, outcomes)
		mustBeSound(t, r)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(acked) < 50 {
		t.Errorf("only %d steps were acknowledged: the test shows nothing", len(acked))
	}
}

func readAcks(t *testing.T, lines *bufio.Scanner, acked map[[3]uint64]string, outcomes map[uint64][2]uint64) {
	for lines.Scan() {
		var o, attempt, step uint64
		var what string
		if _, err := fmt.Sscan(lines.Text(), &o, &attempt, &step, &what); err != nil {
			continue // cut by the kill
		}
		switch {
		case what == "outcome":
			outcomes[o] = [2]uint64{attempt, step}
		case len(what) == 64:
			acked[[3]uint64{o, attempt, step}] = what
		}
	}
}

func mustHold(t *testing.T, s *Store, acked map[[3]uint64]string, outcomes map[uint64][2]uint64) {
	t.Helper()
	err := s.view(func(tx reader) error {
		for k, hash := range acked {
			h, _, err := parseHeader(bucketTurns.get(tx, keyOfStep(Ordinal(k[0]), int(k[1]), int(k[2]))))
			if err != nil || h.hash.String() != hash {
				return fmt.Errorf("step %v was acknowledged and is lost: %v", k, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for o, at := range outcomes {
		out, ok, err := s.Outcome(Ordinal(o))
		if err != nil || !ok || uint64(out.Attempt) < at[0] || uint64(out.Attempt) == at[0] && uint64(out.Steps) <= at[1] {
			t.Fatalf("outcome of %d after %v was acknowledged and is lost: %+v, %v, %v", o, at, out, ok, err)
		}
	}
}

// TestFullFile lets the file run into a size limit, TestFullDisk into the end of
// its file system.
func TestFullFile(t *testing.T) {
	s := newStore(t)
	register(t, s, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c := startChild(t, "fill", s.Path(), nil)
	durable := mustFail(t, c, "store failed, file too large")
	s = openStore(t, s.Path(), Options{}) // without the limit it goes on
	thread, err := s.Thread(0)
	if err != nil || len(thread) != durable+1 {
		t.Errorf("%d steps, %d were durable, %v", len(thread), durable+1, err)
	}
	mustWait(t, openLog(t, s, 0).Append(gpt("on")))
}

func TestFullDisk(t *testing.T) {
	s := newStore(t)
	register(t, s, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(filepath.Dir(s.Path()), "small"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := startChild(t, "mount", s.Path(), &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	})
	mustFail(t, c, "store failed, no space left on device")
	if got := c.line(t); got != "check 0 <nil>" {
		t.Errorf("the store that failed: %s", got)
	}
}

// mustFail reads what a child that fills a store says, and returns the last
// step that was durable.
func mustFail(t *testing.T, c *child, reason string) int {
	t.Helper()
	durable := 0
	line := c.line(t)
	if strings.HasPrefix(line, "no mount") {
		machine.Lacks(t, line)
	}
	for ; strings.HasPrefix(line, "durable"); line = c.line(t) {
		if _, err := fmt.Sscanf(line, "durable %d", &durable); err != nil {
			t.Fatal(err)
		}
	}
	if durable == 0 {
		t.Fatal("nothing was durable")
	}
	for _, want := range []string{
		"failed " + reason, "closed channel true", "next write " + reason, fmt.Sprintf("read %d <nil>", durable), "close <nil>",
	} {
		if line != want {
			t.Errorf("the child said %q, not %q", line, want)
		}
		if want != "close <nil>" {
			line = c.line(t)
		}
	}
	return durable
}
