package main

import (
	"net"
	"sync"
	"time"
)

// door is a listener that can be shut for a while: connections are refused then.
type door struct {
	address string

	mu     sync.RWMutex // held by who shuts it
	inner  net.Listener
	closed bool
}

// Accept waits while the door is shut.
func (d *door) Accept() (net.Conn, error) {
	for {
		inner, _ := d.now()
		conn, err := inner.Accept()
		if err == nil {
			return conn, nil
		}
		if now, closed := d.now(); closed || now == inner {
			return nil, err
		}
	}
}

func (d *door) now() (inner net.Listener, closed bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.inner, d.closed
}

// shut refuses connections for a while.
func (d *door) shut(pause time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.inner.Close()
	time.Sleep(pause)
	inner, err := net.Listen("tcp", d.address)
	if err == nil {
		d.inner = inner
	}
	return err
}

func (d *door) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return d.inner.Close()
}

func (d *door) Addr() net.Addr {
	inner, _ := d.now()
	return inner.Addr()
}
