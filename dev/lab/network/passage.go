package network

import (
	"net"
	"slices"
	"sync"
)

// breach is what a fault does to connections.
type breach interface{ cuts() bool }

// connection is a connection of a client, and the one to the target that belongs to it.
type connection interface {
	comparable
	// reset ends both at once, and run returns when both sides are done.
	reset()
	run()
}

// passage is a port with the connections that pass through it, and the faults that they meet.
type passage[F breach, C connection] struct {
	port   *port
	faults faults[F]
	// connect makes a connection of one that a client has opened. It is called with the lock.
	connect func(*net.TCPConn) C
	// changed, unless nil, is called with the lock when faults have begun or ended.
	changed func()

	mu     sync.Mutex
	conns  map[C]struct{}
	closed bool
	open   sync.WaitGroup // of conns
}

// Addr is where it listens, as 127.0.0.1:port. It stays the same.
func (p *passage[F, C]) Addr() string { return p.port.addr.String() }

// Heal ends all faults.
func (p *passage[F, C]) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults.endAll()
	p.applyLocked()
}

func (p *passage[F, C]) begin(what F) (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.faults.begin(what)
	p.applyLocked()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.faults.end(f)
		p.applyLocked()
	}
}

// applyLocked does to the connections and to the port what the faults say. The rest is done when bytes come.
func (p *passage[F, C]) applyLocked() {
	if p.changed != nil {
		p.changed()
	}
	if !p.isCut() {
		p.port.open()
		return
	}
	p.port.shut()
	p.resetLocked()
}

func (p *passage[F, C]) resetLocked() {
	for c := range p.conns {
		c.reset()
	}
}

func (p *passage[F, C]) isCut() bool {
	return slices.ContainsFunc(p.faults.now(), func(f *fault[F]) bool { return f.what.cuts() })
}

// serve passes what comes on one connection, unless it isn't accepted.
func (p *passage[F, C]) serve(client *net.TCPConn) {
	c, accepted := p.add(client)
	if !accepted {
		reset(client)
		return
	}
	defer p.remove(c)
	c.run()
}

func (p *passage[F, C]) add(client *net.TCPConn) (c C, accepted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.isCut() {
		return c, false
	}
	c = p.connect(client)
	if p.conns == nil {
		p.conns = map[C]struct{}{}
	}
	p.conns[c] = struct{}{}
	p.open.Add(1)
	return c, true
}

func (p *passage[F, C]) remove(c C) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	p.open.Done()
}

// end resets all connections, and returns when they have ended.
func (p *passage[F, C]) end() {
	p.mu.Lock()
	p.closed = true
	p.resetLocked()
	p.mu.Unlock()
	p.port.close()
	p.open.Wait()
}
