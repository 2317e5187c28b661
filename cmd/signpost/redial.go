package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/signpostd/signpost/app/portforward"
)

// redialer connects to a server in a pod. When its port is no longer forwarded, because the pod is
// gone, it finds another pod.
type redialer struct {
	find  func(context.Context) (*portforward.Found, error)
	notes io.Writer

	// mu guards the fields below: gRPC dials in its own goroutines.
	mu     sync.Mutex
	server portforward.Process
	// stop ends the forwarding of server; closed is set by close.
	stop   func()
	closed bool
}

// dial connects to the server. The address is that of the first pod, and is ignored.
func (d *redialer) dial(ctx context.Context, _ string) (net.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, net.ErrClosed
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", d.server.Addr)
	if err == nil || d.server.Pod == nil {
		return conn, err
	}
	found, err := d.find(ctx)
	if err != nil {
		return nil, fmt.Errorf("find another pod: %w", err)
	}
	d.stop()
	before := d.server.Name
	d.server, d.stop = found.Processes[0], found.Close
	if d.server.Name != before {
		// Errors of writing notes are ignored.
		_, _ = fmt.Fprintf(d.notes, "signpost: note: pod %s is unreachable: asking %s\n", before, d.server.Name)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", d.server.Addr)
}

// close ends the forwarding.
func (d *redialer) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.stop()
}
