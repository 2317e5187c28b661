package network

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"
)

// Direction is one of a connection's, or both.
type Direction uint32

// The directions of a connection. Clients connect to a Link, and it to the target.
const (
	ToTarget Direction = 1 << iota
	ToClient

	Both = ToTarget | ToClient
)

// Link passes the bytes of each connection to a target, and the answers back. A connection needs a fixed amount
// of memory: who doesn't read stops the other side from writing.
//
// When one side closes or resets the connection, the other side sees the same. A target that can't be reached
// looks like one that resets each connection.
type Link struct {
	target string
	gate   *gate
	faults faults[linkFault]

	mu     sync.Mutex
	pairs  map[*pair]struct{}
	closed bool
	open   sync.WaitGroup // of pairs
}

// linkFault is one of these.
type linkFault struct {
	latency, jitter time.Duration
	bytesPerSecond  int
	cut             bool
	halfOpen        Direction
}

// NewLink listens on a free port of 127.0.0.1 and passes connections to the target, which is host:port.
func NewLink(target string) (*Link, error) {
	l := &Link{target: target, pairs: map[*pair]struct{}{}}
	gate, err := newGate(0, l.serve)
	if err != nil {
		return nil, fmt.Errorf("make a link to %s: %w", target, err)
	}
	l.gate = gate
	return l, nil
}

// Addr is where the Link listens, as 127.0.0.1:port. It stays the same.
func (l *Link) Addr() string { return l.gate.addr.String() }

// Delay holds each chunk of bytes back for latency, more or less by up to jitter. The next chunk is read afterwards, so what
// is written within one latency waits for up to two.
func (l *Link) Delay(latency, jitter time.Duration) (end func()) {
	return l.begin(linkFault{latency: latency, jitter: jitter})
}

// Slow lets only so many bytes pass in a second, on each connection in each direction. Less than one counts as one.
func (l *Link) Slow(bytesPerSecond int) (end func()) {
	return l.begin(linkFault{bytesPerSecond: max(1, bytesPerSecond)})
}

// Cut resets all connections, and refuses new ones until it ends.
func (l *Link) Cut() (end func()) { return l.begin(linkFault{cut: true}) }

// HalfOpen swallows all bytes in a direction, and closes nothing. Nobody is told of what the other side closes, either.
// New connections are accepted, and get no answer. Connections on which it was once half-open never recover: they stay silent
// until the Link is closed, or both sides have given up. New ones work when it ends.
func (l *Link) HalfOpen(d Direction) (end func()) { return l.begin(linkFault{halfOpen: d & Both}) }

// Heal ends all faults.
func (l *Link) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults.endAll()
	l.applyLocked()
}

// Close resets all connections and ends the Link.
func (l *Link) Close() {
	l.mu.Lock()
	l.closed = true
	l.resetLocked()
	l.mu.Unlock()
	l.gate.close()
	l.open.Wait()
}

func (l *Link) begin(what linkFault) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.faults.begin(what)
	l.applyLocked()
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.faults.end(f)
		l.applyLocked()
	}
}

// applyLocked does to the connections and to the gate what the faults say. The rest is done when bytes come.
func (l *Link) applyLocked() {
	cut, dead := l.now()
	for p := range l.pairs {
		p.kill(dead)
	}
	if !cut {
		l.gate.open()
		return
	}
	l.gate.shut()
	l.resetLocked()
}

func (l *Link) resetLocked() {
	for p := range l.pairs {
		p.reset()
	}
}

// now returns whether the Link is cut, and in which directions it is half-open.
func (l *Link) now() (cut bool, dead Direction) {
	for _, f := range l.faults.now() {
		cut = cut || f.what.cut
		dead |= f.what.halfOpen
	}
	return cut, dead
}

// serve passes the bytes of one connection.
func (l *Link) serve(client *net.TCPConn) {
	p := l.add(client)
	if p == nil {
		reset(client)
		return
	}
	defer l.remove(p)
	p.run(l.target)
}

// add returns nil for a connection that the Link doesn't accept.
func (l *Link) add(client *net.TCPConn) *pair {
	l.mu.Lock()
	defer l.mu.Unlock()
	cut, dead := l.now()
	if cut || l.closed {
		return nil
	}
	p := newPair(client, &l.faults)
	p.kill(dead)
	l.pairs[p] = struct{}{}
	l.open.Add(1)
	return p
}

func (l *Link) remove(p *pair) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pairs, p)
	l.open.Done()
}

// reset closes a connection so that the other side gets a reset, even if everything was read and written.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0) // fails only if the connection is closed already
	_ = conn.Close()
}

// dial connects to a target. If ctx ends, a target that has accepted the connection already sees a reset.
func dial(ctx context.Context, target string) (*net.TCPConn, error) {
	d := &net.Dialer{Timeout: dialTimeout, Control: lingerNot}
	conn, err := d.DialContext(ctx, "tcp", target)
	if err != nil {
		return nil, err
	}
	tcp := conn.(*net.TCPConn) // that is what tcp gives
	if err := tcp.SetLinger(-1); err != nil {
		_ = tcp.Close()
		return nil, err
	}
	return tcp, nil
}

// lingerNot makes a socket reset its connection when it is closed.
func lingerNot(_, _ string, socket syscall.RawConn) error {
	var err error
	controlErr := socket.Control(func(fd uintptr) {
		err = syscall.SetsockoptLinger(int(fd), syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
	})
	return cmp.Or(controlErr, err)
}
