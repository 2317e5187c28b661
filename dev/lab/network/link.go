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

// Direction is a direction of a connection, or both.
type Direction uint32

// Directions of a connection. A client connects to a Link, and the Link to the target.
const (
	ToTarget Direction = 1 << iota
	ToClient

	Both = ToTarget | ToClient
)

// Link forwards the bytes of each connection to a target and back. A connection uses a fixed amount of
// memory, so a side that doesn't read stops the other one from writing.
//
// If one side closes or resets the connection, the other side sees the same. An unreachable target looks like
// one that resets each connection.
type Link struct {
	target string
	port   *port
	faults faults[linkFault]

	mu     sync.Mutex
	pairs  map[*pair]struct{}
	closed bool
	open   sync.WaitGroup // open pairs
}

// linkFault is one fault of a Link. Unset fields have no effect.
type linkFault struct {
	latency, jitter time.Duration
	bytesPerSecond  int
	cut             bool
	halfOpen        Direction
}

// NewLink listens on a free port of 127.0.0.1 and forwards connections to the target, a host:port.
func NewLink(target string) (*Link, error) {
	l := &Link{target: target, pairs: map[*pair]struct{}{}}
	gate, err := newPort(0, l.serve)
	if err != nil {
		return nil, fmt.Errorf("make a link to %s: %w", target, err)
	}
	l.port = gate
	return l, nil
}

// Addr returns the address of the Link, as 127.0.0.1:port. It never changes.
func (l *Link) Addr() string { return l.port.addr.String() }

// Delay delays each chunk of bytes by latency ± jitter. The next chunk is read only after that, so bytes
// written within one latency wait for up to two.
func (l *Link) Delay(latency, jitter time.Duration) (end func()) {
	return l.begin(linkFault{latency: latency, jitter: jitter})
}

// Slow limits the bytes per second of each connection and direction, to at least 1.
func (l *Link) Slow(bytesPerSecond int) (end func()) {
	return l.begin(linkFault{bytesPerSecond: max(1, bytesPerSecond)})
}

// Cut resets all connections, and refuses new ones until end is called.
func (l *Link) Cut() (end func()) { return l.begin(linkFault{cut: true}) }

// HalfOpen drops all bytes and the close of a direction, and closes nothing. New connections are accepted and
// get no response. A connection that was once half-open never recovers: it stays silent until the Link is
// closed, or both sides have given up. New connections work after end is called.
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
	l.port.close()
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

// applyLocked applies the faults to the connections and the port. Delays and limits are applied when bytes
// arrive.
func (l *Link) applyLocked() {
	cut, dead := l.now()
	for p := range l.pairs {
		p.kill(dead)
	}
	if !cut {
		l.port.open()
		return
	}
	l.port.shut()
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

// serve forwards the bytes of one connection.
func (l *Link) serve(client *net.TCPConn) {
	p := l.add(client)
	if p == nil {
		reset(client)
		return
	}
	defer l.remove(p)
	p.run(l.target)
}

// add adds a connection. It returns nil if the Link doesn't accept it.
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

// reset resets a connection, even if everything was read and written.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0) // fails only if the connection is closed already
	_ = conn.Close()
}

// dial connects to a target. If ctx ends, a target that has already accepted the connection sees a reset.
func dial(ctx context.Context, target string) (*net.TCPConn, error) {
	d := &net.Dialer{Timeout: dialTimeout, Control: lingerNot}
	conn, err := d.DialContext(ctx, "tcp", target)
	if err != nil {
		return nil, err
	}
	tcp := conn.(*net.TCPConn) // always, for tcp
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
