package ctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes-batch/db"
)

// newStore makes the store of a run, at a path below dir.
func newStore(t *testing.T, dir string) *db.Store {
	t.Helper()
	store, err := db.Create(filepath.Join(dir, "run.db"), db.Run{Name: "test"}, db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// privateBase lets sockets lie in a folder of the test, and checks that
// nothing is left in it.
func privateBase(t *testing.T) string {
	t.Helper()
	base, err := os.MkdirTemp("", "ctl")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", base)
	t.Cleanup(func() {
		if err := os.Remove(base); err != nil {
			t.Errorf("left behind: %v", err)
		}
	})
	return base
}

// start serves verbs on a new store, and returns the socket as a client finds
// it.
func start(t *testing.T, lim limits, verbs map[string]Verb) (s *Server, socket string) {
	t.Helper()
	privateBase(t)
	store := newStore(t, t.TempDir())
	s, err := serve(context.Background(), store, verbs, nil, lim)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, announced(t, store)
}

func announced(t *testing.T, store *db.Store) string {
	t.Helper()
	holder, err := db.ReadLock(store.Path())
	if err != nil {
		t.Fatal(err)
	}
	return holder.Socket
}

// quick are limits that a test can wait for.
func quick() limits {
	lim := defaultLimits
	lim.asking, lim.reading, lim.stopping = 100*time.Millisecond, 100*time.Millisecond, 200*time.Millisecond
	return lim
}

func echo(_ context.Context, s *db.Store, args []string, w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s: %q\n", s.Run().Name, args)
	return err
}

func TestRoundTrip(t *testing.T) {
	s, socket := start(t, defaultLimits, map[string]Verb{"echo": echo})
	for path, want := range map[string]os.FileMode{socket: 0o600, filepath.Dir(socket): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
	for _, args := range [][]string{{"--json", "a b", "line\nbreak", "ünïcode"}, {}} {
		var got bytes.Buffer
		if err := Call(context.Background(), socket, "echo", args, &got); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("test: %q\n", args); got.String() != want {
			t.Errorf("got %s want %s", &got, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Call(context.Background(), socket, "echo", nil, io.Discard); !errors.Is(err, ErrNobody) {
		t.Errorf("after the end: %v", err)
	}
}

func TestLargeOutputArrivesWhole(t *testing.T) {
	want := strings.Repeat("0123456789abcdef", 3<<16) + "end"
	_, socket := start(t, defaultLimits, map[string]Verb{
		"big": func(_ context.Context, _ *db.Store, _ []string, w io.Writer) error {
			n, err := io.WriteString(w, want)
			if n != len(want) {
				return fmt.Errorf("wrote %d: %w", n, err)
			}
			return err
		},
	})
	var got strings.Builder
	if err := Call(context.Background(), socket, "big", nil, &got); err != nil || got.String() != want {
		t.Errorf("%d of %d bytes, %v", got.Len(), len(want), err)
	}
}

type coded struct{ error }

func (coded) ExitCode() int { return 3 }

func TestErrors(t *testing.T) {
	fail := func(err error) Verb {
		return func(_ context.Context, _ *db.Store, _ []string, w io.Writer) error {
			io.WriteString(w, "half an answer")
			return err
		}
	}
	_, socket := start(t, defaultLimits, map[string]Verb{
		"plain": fail(errors.New("no such prompt")),
		"coded": fail(fmt.Errorf("look: %w", coded{errors.New("store damaged")})),
		"long":  fail(errors.New(strings.Repeat("\x00", 1<<20))),
		"panic": func(context.Context, *db.Store, []string, io.Writer) error { panic("of a test") },
	})
	tests := []struct {
		verb, output string
		code         int
		message      string
	}{
		{"plain", "half an answer", 1, "no such prompt"},
		{"coded", "half an answer", 3, "look: store damaged"},
		{"long", "half an answer", 1, "\x00"},
		{"panic", "", 1, "panic: internal error: of a test"},
		{"other", "", 2, `a run in progress does not answer "other"; it answers coded, long, panic, plain`},
	}
	for _, tt := range tests {
		var got strings.Builder
		var failure *Failure
		err := Call(context.Background(), socket, tt.verb, nil, &got)
		if !errors.As(err, &failure) {
			t.Errorf("%s: %v", tt.verb, err)
			continue
		}
		if got.String() != tt.output || failure.ExitCode() != tt.code || !strings.HasPrefix(err.Error(), tt.message) {
			t.Errorf("%s: output %q, exit code %d, error %.200q", tt.verb, &got, failure.Code, err.Error())
		}
	}
}

func TestManyClientsAtOnce(t *testing.T) {
	const clients = 32
	var all sync.WaitGroup // every verb waits for the others
	all.Add(clients)
	_, socket := start(t, defaultLimits, map[string]Verb{
		"echo": func(ctx context.Context, s *db.Store, args []string, w io.Writer) error {
			all.Done()
			all.Wait()
			return echo(ctx, s, args, w)
		},
	})
	results := make(chan error, clients)
	for i := range clients {
		go func() {
			var got strings.Builder
			arg := fmt.Sprint("client ", i)
			err := Call(context.Background(), socket, "echo", []string{arg}, &got)
			if err == nil && got.String() != fmt.Sprintf("test: %q\n", []string{arg}) {
				err = fmt.Errorf("client %d got %s", i, &got)
			}
			results <- err
		}()
	}
	for range clients {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

// hold is a verb that says when it runs, and runs until its context ends.
func hold(running chan<- struct{}, ended chan<- error) Verb {
	return func(ctx context.Context, _ *db.Store, _ []string, w io.Writer) error {
		io.WriteString(w, "so far")
		running <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	}
}

func TestTooManyClients(t *testing.T) {
	lim := defaultLimits
	lim.callers = 2
	running, ended := make(chan struct{}), make(chan error, 2)
	s, socket := start(t, lim, map[string]Verb{"hold": hold(running, ended), "echo": echo})
	results := make(chan error, 2)
	for range 2 {
		go func() { results <- Call(context.Background(), socket, "hold", nil, io.Discard) }()
		<-running
	}
	if err := Call(context.Background(), socket, "echo", nil, io.Discard); !errors.Is(err, ErrBusy) {
		t.Errorf("one too many: %v", err)
	}
	s.Close()
	for range 2 {
		if err := <-results; !errors.Is(err, ErrCut) {
			t.Errorf("cut off at the end: %v", err)
		}
	}
}

func TestCancelledCall(t *testing.T) {
	running, ended := make(chan struct{}), make(chan error, 1)
	_, socket := start(t, defaultLimits, map[string]Verb{"hold": hold(running, ended)})
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	var got strings.Builder
	go func() { result <- Call(ctx, socket, "hold", nil, &got) }()
	<-running
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("call: %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("verb: %v", err)
	}
	if err := Call(ctx, socket, "hold", nil, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("call that was cancelled before: %v", err)
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	privateBase(t)
	store := newStore(t, t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	s, err := Serve(ctx, store, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-s.done
	if err := Call(context.Background(), announced(t, store), "echo", nil, io.Discard); !errors.Is(err, ErrNobody) {
		t.Errorf("call: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestClientThatNeverReads(t *testing.T) {
	failed := make(chan error, 1)
	s, socket := start(t, quick(), map[string]Verb{
		"echo": echo,
		"flood": func(ctx context.Context, _ *db.Store, _ []string, w io.Writer) error {
			for {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					failed <- err
					return err
				}
			}
		},
	})
	conn := connect(t, socket)
	io.WriteString(conn, `{"verb":"flood"}`+"\n")
	if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the verb's output: %v", err)
	}
	if err := Call(context.Background(), socket, "echo", nil, io.Discard); err != nil {
		t.Errorf("the next caller: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestClientsThatAskNothing(t *testing.T) {
	_, socket := start(t, quick(), map[string]Verb{"echo": echo})
	for name, line := range map[string]string{
		"silence":   "",
		"half":      `{"verb":"echo"`,
		"no JSON":   "status\n",
		"an array":  "[]\n",
		"very long": strings.Repeat("x", largestRequest+1),
	} {
		conn := connect(t, socket)
		go io.WriteString(conn, line)
		var got strings.Builder
		if err := receive(conn, &got, func() {}); !errors.Is(err, ErrGarbled) {
			t.Errorf("%s: %v, output %q", name, err, &got)
		}
	}
}

func connect(t *testing.T, socket string) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestVerbThatDoesNotEnd(t *testing.T) {
	release, running := make(chan struct{}), make(chan struct{})
	s, socket := start(t, quick(), map[string]Verb{
		"stuck": func(context.Context, *db.Store, []string, io.Writer) error {
			close(running)
			<-release
			return nil
		},
	})
	result := make(chan error, 1)
	go func() { result <- Call(context.Background(), socket, "stuck", nil, io.Discard) }()
	<-running
	if err := s.Close(); err == nil {
		t.Error("closed although a verb runs")
	}
	if err := <-result; !errors.Is(err, ErrCut) {
		t.Errorf("its caller: %v", err)
	}
	close(release)
	<-s.done
}

func TestRequestThatIsTooLong(t *testing.T) {
	err := Call(context.Background(), "/nowhere", "echo", []string{strings.Repeat("x", largestRequest)}, io.Discard)
	if !errors.Is(err, ErrGarbled) {
		t.Errorf("error: %v", err)
	}
}

func TestOutputThatCannotBeWritten(t *testing.T) {
	_, socket := start(t, defaultLimits, map[string]Verb{"echo": echo})
	r, w := io.Pipe()
	r.CloseWithError(io.ErrShortWrite)
	if err := Call(context.Background(), socket, "echo", nil, w); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("error: %v", err)
	}
}

// What listens may be something else, or die at any moment.
func TestOtherListeners(t *testing.T) {
	begun := string(appendFrame(nil, frameBegun, nil))
	part := string(appendFrame(nil, frameOutput, []byte("part")))
	tests := []struct {
		name, answer, output string
		want                 error
	}{
		{"ends at once", "", "", ErrNobody},
		{"dies before output", begun, "", ErrCut},
		{"dies between frames", begun + part, "part", ErrCut},
		{"dies in a frame", begun + part + part[:7], "part", ErrCut},
		{"another protocol", "HTTP/1.1 400 Bad Request\r\n\r\n", "", ErrGarbled},
		{"unknown frame", begun + part + string(appendFrame(nil, 'x', nil)), "part", ErrGarbled},
		{"bad end", begun + part + string(appendFrame(nil, frameEnd, []byte("{"))), "part", ErrGarbled},
		{"huge frame", begun + "o\xff\xff\xff\xff", "", ErrGarbled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			socket := filepath.Join(privateDir(t), "s")
			listener, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			go func() {
				conn, err := listener.Accept()
				if err == nil {
					readRequest(conn)
					io.WriteString(conn, tt.answer)
					conn.Close()
				}
			}()
			var got strings.Builder
			if err := Call(context.Background(), socket, "status", nil, &got); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if got.String() != tt.output {
				t.Errorf("output %q, want %q", &got, tt.output)
			}
		})
	}
}

// A run that is stopped still has its socket, but accepts nobody.
func TestRunThatIsStopped(t *testing.T) {
	socket := filepath.Join(privateDir(t), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	err = call(context.Background(), socket, request{Verb: "status"}, io.Discard, 50*time.Millisecond)
	if !errors.Is(err, ErrBusy) {
		t.Errorf("error: %v", err)
	}
}

// privateDir is a folder whose path is short enough for a socket.
func privateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ctl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func FuzzReceive(f *testing.F) {
	begun := appendFrame(nil, frameBegun, nil)
	whole := appendFrame(appendFrame(begun, frameOutput, []byte("text")), frameEnd, []byte(`{"code":0}`))
	for _, seed := range [][]byte{nil, begun, whole, whole[:len(whole)-1], []byte("HTTP/1.1 400"), []byte("o\xff\xff\xff\xff"),
		appendFrame(begun, frameEnd, []byte(`{"code":3,"error":"x"}`)), appendFrame(nil, frameEnd, []byte(`{"reason":"busy"}`))} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		var got bytes.Buffer
		err := receive(bytes.NewReader(answer), &got, func() {})
		if got.Len() > len(answer) {
			t.Errorf("%d bytes of output out of %d", got.Len(), len(answer))
		}
		if err == nil && !bytes.ContainsRune(answer, frameEnd) {
			t.Error("whole without an end")
		}
	})
}

func FuzzReadRequest(f *testing.F) {
	for _, seed := range []string{"", "\n", "{}\n", `{"verb":"status","args":["--json"]}` + "\n", `{"verb":1}` + "\n", "null\n", `{"verb":"a"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		req, err := readRequest(bytes.NewReader(line))
		if err != nil {
			if !errors.Is(err, ErrGarbled) {
				t.Error(err)
			}
			return
		}
		again, err := encodeRequest(req)
		if err != nil {
			t.Fatal(err)
		}
		back, err := readRequest(bytes.NewReader(again))
		if err != nil || back.Verb != req.Verb || len(back.Args) != len(req.Args) {
			t.Errorf("%q became %q, %v", req, back, err)
		}
	})
}
