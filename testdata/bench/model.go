package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"syscall"
	"time"

	"hermes-batch/testdata/shipped"
)

// modelServer is the embedded model, served by a process of its own.
type modelServer struct {
	url    string // with /v1
	cmd    *exec.Cmd
	cancel context.CancelFunc
}

var modelURL = regexp.MustCompile(`http://[0-9.:]+/v1`)

// startModel starts the model at a free port.
func startModel(ctx context.Context, p program, latency time.Duration) (*modelServer, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	m := &modelServer{cmd: exec.CommandContext(ctx, p.path, "simulate", "--addr=127.0.0.1:0", "--latency="+latency.String()), cancel: cancel}
	m.cmd.Env = shipped.Environment(m.cmd.Environ())
	said, err := m.cmd.StderrPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	if err := m.cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	in := bufio.NewReader(said)
	line, err := in.ReadString('\n')
	if m.url = modelURL.FindString(line); m.url == "" {
		m.stop()
		return nil, fmt.Errorf("the model does not say where it is: %q, %v", line, err)
	}
	go io.Copy(io.Discard, in) // until it ends
	return m, nil
}

// stop ends the model and tells the processor time that it took. It may be
// called again.
func (m *modelServer) stop() time.Duration {
	if m.cmd.ProcessState == nil {
		_ = m.cmd.Process.Signal(syscall.SIGTERM)
		_ = m.cmd.Wait()
		m.cancel()
	}
	return m.cmd.ProcessState.UserTime() + m.cmd.ProcessState.SystemTime()
}

// modelStats are the counts of a model that matter here.
type modelStats struct {
	Answered      int `json:"answered"`
	DistinctTurns int `json:"distinct_turns"`
	AnsweredTwice int `json:"answered_twice"`
	MaxInFlight   int `json:"max_in_flight"`
}

func (m *modelServer) stats() (s modelStats, err error) {
	resp, err := http.Get(m.url[:len(m.url)-len("/v1")] + "/stats")
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	return s, json.NewDecoder(resp.Body).Decode(&s)
}

// check tells whether a run did what its figures are about.
func (s modelStats) check(turns, workers int) error {
	if s.DistinctTurns != turns || s.Answered != turns || s.AnsweredTwice != 0 || s.MaxInFlight > workers {
		return fmt.Errorf("the model answered %+v, where %d different turns are due, at most %d at once", s, turns, workers)
	}
	return nil
}
