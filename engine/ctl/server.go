package ctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"hermes-batch/db"
)

// A Verb answers one question about the store. What it writes to w reaches the
// caller at once, in pieces of at most 64 KiB; many small writes are better
// buffered. It must not be in a transaction when it writes, and ends soon
// after ctx is cancelled. It may run several times at once.
type Verb func(ctx context.Context, s *db.Store, args []string, w io.Writer) error

// limits protect the run from its callers.
type limits struct {
	callers  int           // served at once; more are told that the run is busy
	asking   time.Duration // for a request to arrive
	reading  time.Duration // for a caller to take one frame
	stopping time.Duration // for verbs to end at Close, before their callers are cut off
}

var defaultLimits = limits{callers: 64, asking: 5 * time.Second, reading: 10 * time.Second, stopping: time.Second}

// Log keys.
const (
	keyVerb   = "verb"
	keySocket = "socket"
	keyError  = "error"
)

// A Server answers callers until it is closed.
type Server struct {
	store  *db.Store
	verbs  map[string]Verb
	log    *slog.Logger
	limits limits

	listener *net.UnixListener
	ctx      context.Context // of all verbs
	stop     context.CancelFunc
	done     chan struct{} // closed when nothing of the server runs any more

	mu      sync.Mutex
	callers map[*net.UnixConn]bool // connections that are served
	closed  bool
}

// Serve listens on a new socket, announces it beside the store, and answers
// callers with verbs until ctx is cancelled or Close is called. The map must
// not change any more; log may be nil. The store must stay open until Close
// has returned.
func Serve(ctx context.Context, store *db.Store, verbs map[string]Verb, log *slog.Logger) (*Server, error) {
	return serve(ctx, store, verbs, log, defaultLimits)
}

func serve(ctx context.Context, store *db.Store, verbs map[string]Verb, log *slog.Logger, lim limits) (*Server, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	listener, err := listen(store)
	if err != nil {
		return nil, err
	}
	s := &Server{
		store: store, verbs: verbs, log: log, limits: lim, listener: listener,
		done: make(chan struct{}), callers: map[*net.UnixConn]bool{},
	}
	s.ctx, s.stop = context.WithCancel(ctx)
	go s.run()
	if err := store.AnnounceSocket(s.socket()); err != nil {
		return nil, errors.Join(fmt.Errorf("announce the run's socket: %w", err), s.Close())
	}
	return s, nil
}

// listen opens the socket: private by its folder from the first moment on,
// and by its own mode.
func listen(store *db.Store) (*net.UnixListener, error) {
	path, err := filepath.Abs(store.Path())
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	socket, err := socketPath(host + "\x00" + store.Run().ID + "\x00" + path)
	if err != nil {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the run's socket: %w", err), os.Remove(filepath.Dir(socket)))
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close(), os.Remove(filepath.Dir(socket)))
	}
	return listener, nil
}

func (s *Server) socket() string { return s.listener.Addr().String() }

// Close stops listening, cancels the verbs that run, cuts off callers that
// hold them up, and removes the socket. It returns within a few seconds, with
// an error if a verb still runs then. Calling it again does no harm.
func (s *Server) Close() error {
	s.stop()
	for range 2 {
		select {
		case <-s.done:
			return nil
		case <-time.After(s.limits.stopping):
			s.cutOff()
		}
	}
	return errors.New("a question to the run does not end")
}

// run accepts callers and ends when the server is stopped and the last of
// them is gone.
func (s *Server) run() {
	defer close(s.done)
	socket := s.socket()
	stopped := context.AfterFunc(s.ctx, func() { s.listener.Close() })
	defer stopped()

	var wait time.Duration
	var all sync.WaitGroup
	for {
		conn, err := s.listener.AcceptUnix()
		if s.ctx.Err() != nil {
			if err == nil {
				conn.Close()
			}
			break
		}
		if err != nil { // out of files, most likely: other parts of the run free some
			wait = min(max(2*wait, 10*time.Millisecond), time.Second)
			s.log.Warn("run's socket", keySocket, socket, keyError, err)
			s.pause(wait)
			continue
		}
		wait = 0
		all.Go(func() { s.serve(conn) })
	}
	if err := os.Remove(filepath.Dir(socket)); err != nil {
		s.log.Warn("run's socket", keySocket, socket, keyError, err)
	}
	all.Wait()
}

func (s *Server) pause(d time.Duration) {
	select {
	case <-s.ctx.Done():
	case <-time.After(d):
	}
}

// admit counts a caller in, if there is room.
func (s *Server) admit(conn *net.UnixConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.callers) >= s.limits.callers {
		return false
	}
	s.callers[conn] = true
	return true
}

func (s *Server) dismiss(conn *net.UnixConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.callers, conn)
}

// cutOff closes the connections of all callers.
func (s *Server) cutOff() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for conn := range s.callers {
		conn.Close()
	}
}
