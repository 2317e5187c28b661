package network

import (
	"context"
	"net"
	"sync"
)

// ends are the connection of a client, and the one to the target that belongs to it.
type ends struct {
	client *net.TCPConn
	ctx    context.Context // ends with reset, and with close
	cancel context.CancelFunc

	mu     sync.Mutex
	target *net.TCPConn // nil until it is connected
}

func (e *ends) begin(client *net.TCPConn) {
	e.client = client
	e.ctx, e.cancel = context.WithCancel(context.Background())
}

// reset ends both connections at once.
func (e *ends) reset() { e.both(reset) }

// close closes both connections.
func (e *ends) close() { e.both(func(conn *net.TCPConn) { _ = conn.Close() }) }

func (e *ends) both(end func(*net.TCPConn)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cancel()
	end(e.client)
	if e.target != nil {
		end(e.target)
	}
}

// dial connects to the target.
func (e *ends) dial(address string) (*net.TCPConn, error) {
	target, err := dial(e.ctx, address)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.target = target
	if e.ctx.Err() != nil {
		reset(target)
	}
	return target, nil
}

// pass runs a function for each direction, and returns when both are done.
func pass(toTarget, toClient func()) {
	var back sync.WaitGroup
	back.Go(toClient)
	toTarget()
	back.Wait()
}
