package simulated

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// Listen serves the model at a TCP address until ctx ends, and says on log
// where. ErrOptions is returned when addr is no address, another error when it
// cannot be had.
func Listen(ctx context.Context, addr string, o Options, log io.Writer) error {
	handler, err := New(o)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addr)
	var refused *os.SyscallError
	switch {
	case errors.As(err, &refused):
		return fmt.Errorf("cannot listen on %s: %w", addr, refused.Err)
	case err != nil:
		return fmt.Errorf("%w: addr: %w", ErrOptions, err)
	}
	fmt.Fprintf(log, "model %q at http://%s/v1\n", Model, listener.Addr())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
