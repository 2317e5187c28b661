package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// front is one address for all replicas, as a ClusterIP is: each connection goes to the next
// replica that accepts it.
type front struct {
	listener net.Listener
	to       []string
	next     atomic.Uint32
	running  sync.WaitGroup
}

// dialWithin is how long a replica may take to accept a connection.
const dialWithin = 2 * time.Second

func openFront(ctx context.Context, address string, to []string) (*front, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("open the address of the server: %w", err)
	}
	f := &front{listener: l, to: to}
	f.running.Go(f.accept)
	return f, nil
}

func (f *front) accept() {
	for {
		c, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.running.Go(func() { f.serve(c) })
	}
}

// serve passes bytes on until one of the two sides ends.
func (f *front) serve(c net.Conn) {
	defer c.Close()
	replica, err := f.dial()
	if err != nil {
		return
	}
	defer replica.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(replica, c)
		_ = replica.Close()
	}()
	_, _ = io.Copy(c, replica)
	_ = c.Close()
	<-done
}

func (f *front) dial() (net.Conn, error) {
	var err error
	for range f.to {
		var c net.Conn
		at := f.to[int(f.next.Add(1))%len(f.to)]
		if c, err = net.DialTimeout("tcp", at, dialWithin); err == nil {
			return c, nil
		}
	}
	return nil, err
}

// close ends the front when the replicas and the clients have ended.
func (f *front) close() {
	_ = f.listener.Close()
	f.running.Wait()
}
