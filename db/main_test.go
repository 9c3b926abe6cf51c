package db

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"hermes-batch/testdata/leak"
	"hermes-batch/testdata/machine"
)

// childEnv makes the test binary play the part of another process.
const childEnv = "DB_TEST_CHILD"

func TestMain(m *testing.M) {
	part, path := os.Getenv(childEnv), os.Getenv(childEnv+"_PATH")
	parts := map[string]func(path string) error{"hold": childHold, "write": childWrite, "fill": childFill, "mount": childMount}
	if part == "" {
		os.Exit(leak.Check(m.Run()))
	}
	if err := parts[part](path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child is another process over the store.
type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner // what it writes to stdout
}

func startChild(t *testing.T, part, path string, attr *syscall.SysProcAttr) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.Command(exe)}
	c.cmd.Env = append(os.Environ(), childEnv+"="+part, childEnv+"_PATH="+path)
	c.cmd.Stderr = os.Stderr
	c.cmd.SysProcAttr = attr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewScanner(out)
	if err := c.cmd.Start(); err != nil {
		if attr != nil {
			machine.Lacks(t, fmt.Sprintf("no namespaces here: %v", err))
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // it has ended, unless the test failed
		_ = c.cmd.Wait()
	})
	return c
}

func (c *child) line(t *testing.T) string {
	t.Helper()
	if !c.lines.Scan() {
		t.Fatalf("the child said nothing: %v", c.lines.Err())
	}
	return c.lines.Text()
}

// childHold opens the store and holds it until its stdin ends.
func childHold(path string) error {
	s, err := Open(path, Options{})
	if err != nil {
		return err
	}
	if err := s.AnnounceSocket("/run/x.sock"); err != nil {
		return err
	}
	fmt.Println("open")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return s.Close()
}

// childWrite lets 16 sessions write for as long as it lives, and says on stdout
// what is durable: ordinal, attempt, step, hash.
func childWrite(path string) error {
	s, err := Open(path, Options{})
	if err != nil {
		return err
	}
	n, err := s.NextIndex()
	if err != nil {
		return err
	}
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(format, args...)
	}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { err = writeForEver(s, MakeOrdinal(i, 0), say) })
	}
	wg.Wait()
	return err
}

func writeForEver(s *Store, o Ordinal, say func(string, ...any)) error {
	l, err := s.Log(o)
	if err != nil {
		return err
	}
	recs := []Record{start()}
	if attempt, _ := l.Last(); attempt >= 0 {
		recs = []Record{&Retry{Reason: "crash"}}
	}
	for i := 0; ; i++ {
		if err := l.Append(recs...).Wait(context.Background()); err != nil {
			return err
		}
		attempt, step := l.Last()
		say("%d %d %d %s\n", o, attempt, step, l.head)
		recs = []Record{gpt(fmt.Sprint("turn ", i)), &Result{Turn: step + 1, Parts: []Part{{Type: "text", Text: strings.Repeat("out ", i%50)}}}}
		if i%7 == 6 {
			if err := l.Finish(&Outcome{End: "failed", Class: "transient", Reason: "server"}).Wait(context.Background()); err != nil {
				return err
			}
			say("%d %d %d outcome\n", o, attempt, step)
			recs = append([]Record{&Retry{Reason: "server"}}, recs...)
		}
		if i%11 == 10 {
			recs = append([]Record{&Attempt{Parent: attempt, ForkStep: step / 2}}, recs...)
		}
	}
}

// childFill writes until the store fails, and says how that went.
func childFill(path string) error {
	signal.Ignore(syscall.SIGXFSZ) // the limit is to show as an error
	limit := syscall.Rlimit{Cur: 6 << 20, Max: 6 << 20}
	if os.Getenv(childEnv) == "fill" {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			return err
		}
	}
	s, err := Open(path, Options{})
	if err != nil {
		return err
	}
	l, err := s.Log(0)
	if err != nil {
		return err
	}
	first := l.Append(start())
	if err := first.Wait(context.Background()); err != nil {
		return err
	}
	for i := 0; err == nil; i++ {
		raw := incompressible(100 << 10)
		copy(raw, fmt.Sprint(i))
		err = l.Append(&Rejected{Raw: raw}).Wait(context.Background())
		if err == nil {
			_, step := l.Last()
			fmt.Println("durable", step)
		}
	}
	fmt.Println("failed", isAbout(err))
	select {
	case <-s.Failed():
		fmt.Println("closed channel", s.Err() != nil)
	default:
		fmt.Println("open channel", s.Err() != nil)
	}
	_, err = s.PutBlob([]byte("more"))
	fmt.Println("next write", isAbout(err))
	thread, err := s.Thread(0)
	fmt.Println("read", len(thread)-1, err)
	fmt.Println("close", s.Close())
	return nil
}

// childMount fills a file system of 3 MiB, in namespaces of its own.
func childMount(path string) error {
	dir := filepath.Join(filepath.Dir(path), "small")
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		fmt.Println("no mount:", err)
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	small := filepath.Join(dir, filepath.Base(path))
	if err := os.WriteFile(small, data, 0o600); err != nil {
		return err
	}
	if err := childFill(small); err != nil {
		return err
	}
	s, err := Open(small, Options{ReadOnly: true})
	if err != nil {
		return err
	}
	r, err := s.Check(context.Background(), true)
	fmt.Println("check", r.Found, err)
	return s.Close()
}
