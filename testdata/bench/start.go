package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"time"
)

// interrupted is the exit code after Ctrl+C.
const interrupted = 130

// start measures from the start of the program to its first request, in a run
// that is new.
func (b *bench) start(ctx context.Context) error {
	m := metric{"Start/new", fmt.Sprintf("start to first request, new run of %d prompts", b.size.fresh), "s", atMost(0.1)}
	return b.rounds(b.size.samples+2, func(p program) error {
		dir, remove, err := b.folder()
		if err != nil {
			return err
		}
		defer remove()
		if _, err := writeDataset(filepath.Join(dir, datasetFile), b.size.fresh, sum); err != nil {
			return err
		}
		took, _, err := firstRequest(ctx, p, dir)
		if err == nil {
			b.add(p, m, took.Seconds())
		}
		return err
	})
}

// firstRequest runs the program over the dataset of a folder until it asks the
// model, and tells how long that took; then the program is interrupted.
func firstRequest(ctx context.Context, p program, dir string, more ...string) (time.Duration, usage, error) {
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
		c.interrupt()
		u, err := c.wait(interrupted)
		return at.Sub(c.began), u, err
	case <-c.ended:
		_, err := c.wait(interrupted)
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
