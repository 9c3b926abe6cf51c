package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A question is what a program asks a job's supervisor, one in a connection. An
// empty one asks how the job stands.
type question struct {
	// Wait is for how long the answer may wait for the job's end.
	Wait time.Duration `json:",omitempty"`
	// Kill ends the job.
	Kill bool `json:",omitempty"`
	// Data is for the standard input, and Last ends that.
	Data []byte `json:",omitempty"`
	Last bool   `json:",omitempty"`
}

// writes says whether the question is about the standard input.
func (q question) writes() bool { return len(q.Data) > 0 || q.Last }

type answer struct {
	Job Job
	// Written is the number of bytes that the standard input took.
	Written int `json:",omitempty"`
	// Refused says why it did not take all.
	Refused string `json:",omitempty"`
}

const (
	// askLimit bounds every step of a conversation that waits for nothing.
	askLimit = 10 * time.Second
	// writeLimit is how long input waits to be read.
	writeLimit = 2 * time.Second
	// partLimit is how long a supervisor stays to answer what it was asked.
	partLimit = writeLimit + time.Second
)

// A jobServer answers questions about the command of its supervisor.
type jobServer struct {
	listener *net.UnixListener
	kill     chan struct{} // asks to end the job
	over     chan struct{} // closed when the job has ended
	result   Result        // set before that

	// Set before anybody is served.
	job      Job
	output   *output
	terminal bool

	asking  sync.Mutex // held to begin a conversation
	parting bool       // no other one begins
	talks   sync.WaitGroup

	writing sync.Mutex
	input   *os.File // nil once it is closed
	midLine bool     // what was written last ended no line
}

// listenAt makes the server of a job and leaves the process in the socket's
// folder. The socket stays, and is durable before the job starts: whatever
// becomes of the machine, it shows that there was one.
func listenAt(socket string) (*jobServer, error) {
	dir, name := filepath.Split(socket)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	// From inside of it: an address is shorter than a path may be.
	if err := os.Chdir(dir); err != nil {
		return nil, err
	}
	_ = os.Remove(name) // of a call that is run again
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err := errors.Join(err, syncFolder("."), syncFolder("..")); err != nil {
		return nil, fmt.Errorf("listen for the job: %w", err)
	}
	return &jobServer{listener: l, kill: make(chan struct{}, 1), over: make(chan struct{})}, nil
}

func syncFolder(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// announce tells that the job runs, in the record first. An error ends it: what
// nobody knows of must not run on.
func (s *supervisor) announce(input *os.File) error {
	script := replaceInvalid(cutEnd(s.spec.Script[:min(len(s.spec.Script), maxJobScript)]))
	s.job.output, s.job.input, s.job.terminal = s.output, input, s.spec.Terminal
	s.job.job = Job{
		ID: jobID(filepath.Base(s.spec.Path)), Script: string(script), Dir: s.spec.Dir,
		PID: s.shell, Started: s.begun.UTC(),
	}
	shell, err := readProcess(strconv.Itoa(s.shell))
	if err == nil {
		err = record{Group: s.shell, GroupStart: shell.start, Job: &s.job.job}.note(s.file)
	}
	if err != nil {
		s.end(stopGrace)
		return fmt.Errorf("note the job: %w", err)
	}
	s.tell(report{Result: &Result{Job: &s.job.job}})
	go s.job.serve()
	return nil
}

func (j *jobServer) serve() {
	for {
		conn, err := j.listener.Accept()
		if err != nil {
			time.Sleep(settle) // no descriptors, for the moment
			continue
		}
		go j.converse(conn)
	}
}

func (j *jobServer) converse(conn net.Conn) {
	defer conn.Close()
	var q question
	_ = conn.SetDeadline(time.Now().Add(askLimit))
	if json.NewDecoder(conn).Decode(&q) != nil || !j.begin() {
		return
	}
	defer j.talks.Done()
	a := j.answer(q)
	_ = conn.SetDeadline(time.Now().Add(askLimit))
	_ = json.NewEncoder(conn).Encode(a)
}

// begin admits a conversation.
func (j *jobServer) begin() bool {
	j.asking.Lock()
	defer j.asking.Unlock()
	if !j.parting {
		j.talks.Add(1)
	}
	return !j.parting
}

// part ends the conversations of a job that is over: who has made it do
// something hears of that. Others find the rest in the record.
func (j *jobServer) part() {
	j.asking.Lock()
	j.parting = true
	j.asking.Unlock()
	silence := make(chan struct{})
	go func() {
		j.talks.Wait()
		close(silence)
	}()
	select {
	case <-silence:
	case <-time.After(partLimit):
	}
}

func (j *jobServer) answer(q question) (a answer) {
	switch {
	case q.Kill:
		select {
		case j.kill <- struct{}{}:
		default:
		}
		<-j.over
	case q.writes():
		var err error
		if a.Written, err = j.write(q.Data, q.Last); err != nil {
			a.Refused = err.Error()
		}
	case q.Wait > 0:
		select {
		case <-j.over:
		case <-time.After(q.Wait):
		}
	}
	a.Job = j.look()
	return a
}

// look tells how the job stands.
func (j *jobServer) look() Job {
	now := j.job
	select {
	case <-j.over:
		now.Result = j.result
	default:
		now.Running = true
		now.Result.Took = time.Since(now.Started)
		now.Result.Output, now.Result.Dropped = j.output.end()
		now.Result.Full = j.output.full()
	}
	return now
}

var (
	errEnded  = errors.New("the process has ended")
	errClosed = errors.New("its standard input is closed")
	errFull   = errors.New("it does not read its standard input")
)

// write writes to the standard input, and ends it.
func (j *jobServer) write(data []byte, last bool) (n int, err error) {
	j.writing.Lock()
	defer j.writing.Unlock()
	select {
	case <-j.over:
		return 0, errEnded
	default:
	}
	if j.input == nil {
		return 0, errClosed
	}
	_ = j.input.SetWriteDeadline(time.Now().Add(writeLimit))
	n, err = j.input.Write(data)
	if n > 0 {
		j.midLine = data[n-1] != '\n'
	}
	if err == nil && last {
		err = j.endInput()
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = errFull
	case errors.Is(err, unix.EPIPE):
		err = errClosed
	}
	return n, err
}

func (j *jobServer) endInput() error {
	if !j.terminal {
		err := j.input.Close()
		j.input = nil
		return err
	}
	end := []byte{endOfInput}
	if j.midLine {
		// The first one only hands over what stands in the line.
		end = append(end, endOfInput)
	}
	j.midLine = false
	_, err := j.input.Write(end)
	return err
}

// end makes the job's result known.
func (j *jobServer) end(r Result) {
	j.result = r
	close(j.over)
}
