package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"hermes-batch/testdata/figures"
)

// stop is a way to end a program, and the exit code that follows.
type stop struct {
	signal os.Signal
	code   int
}

var (
	inOrder = stop{syscall.SIGINT, 130}
	atOnce  = stop{syscall.SIGKILL, -1}
)

// start measures from the start of the program to its first request, in runs
// that are new: what reading and registering a dataset takes.
func (b *bench) start(ctx context.Context) error {
	for _, n := range b.size.fresh {
		at, key := ", new run of "+figures.Count(n, "prompt"), fmt.Sprintf("/new=%d", n)
		err := b.rounds(b.size.samples, func(p program) error {
			took, u, err := b.fresh(ctx, p, n)
			if err != nil {
				return err
			}
			b.add(p, "Start"+key, "start to first request"+at, "s", firstRequestTarget(n), took.Seconds())
			b.add(p, "Memory"+key, "  peak anonymous memory until then", "MB", figures.Less(), megabytes(u.memory))
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// firstRequestTarget is the target for a run that is no larger than most are.
func firstRequestTarget(prompts int) figures.Target {
	if prompts > 1024 {
		return figures.Less()
	}
	return figures.AtMost(0.1)
}

func (b *bench) fresh(ctx context.Context, p program, prompts int) (time.Duration, usage, error) {
	dir, remove, err := b.folder()
	if err != nil {
		return 0, usage{}, err
	}
	defer remove()
	if _, err := writeDataset(filepath.Join(dir, datasetFile), prompts, sum); err != nil {
		return 0, usage{}, err
	}
	return firstRequest(ctx, p, dir, inOrder)
}

// firstRequest runs the program over the dataset of a folder until it asks the
// model, and tells how long that took; then the program is ended.
func firstRequest(ctx context.Context, p program, dir string, end stop, more ...string) (time.Duration, usage, error) {
	silent, err := listen()
	if err != nil {
		return 0, usage{}, err
	}
	defer silent.server.Close()
	c, err := p.start(ctx, dir, arguments(silent.url, 4, append(more, "--shutdown_grace=0s")...)...)
	if err != nil {
		return 0, usage{}, err
	}
	select {
	case at := <-silent.asked:
		_ = c.cmd.Process.Signal(end.signal)
		u, err := c.wait(end.code)
		return at.Sub(c.began), u, err
	case <-c.ended:
		_, err := c.wait(end.code)
		return 0, usage{}, fmt.Errorf("ended without a request: %w", err)
	}
}

// silentModel never answers, and tells when it was first asked.
type silentModel struct {
	url    string
	server *http.Server
	asked  chan time.Time
}

func listen() (*silentModel, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &silentModel{url: "http://" + listener.Addr().String() + "/v1", asked: make(chan time.Time, 1)}
	m.server = &http.Server{Handler: http.HandlerFunc(m.serve)}
	go m.server.Serve(listener) // until Close
	return m, nil
}

func (m *silentModel) serve(_ http.ResponseWriter, r *http.Request) {
	select {
	case m.asked <- time.Now():
	default:
	}
	_, _ = io.Copy(io.Discard, r.Body) // only then is it seen that the client leaves
	<-r.Context().Done()
}
