package network

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
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

// Link passes the bytes of each connection to a target, and the answers back. A connection needs a
// fixed amount of memory: who doesn't read stops the other side from writing.
//
// When one side closes or resets the connection, the other side sees the same. A target that can't be reached
// looks like one that resets each connection.
type Link struct {
	target string
	port   *port
	faults faults[linkFault]
	dns    *DNS // whose messages pass, or nil

	mu     sync.Mutex
	conns  map[*pair]struct{}
	closed bool
	open   sync.WaitGroup // of conns
}

// linkFault is one of these.
type linkFault struct {
	latency, jitter     time.Duration
	bytesPerSecond      int
	cut                 bool
	halfOpen            Direction
	requests, responses *dice // which messages of a DNS are dropped
}

// NewLink listens on a free port of 127.0.0.1 and passes connections to the target, which is host:port.
func NewLink(target string) (*Link, error) {
	l := &Link{}
	if err := l.start(target, nil); err != nil {
		return nil, fmt.Errorf("make a link to %s: %w", target, err)
	}
	return l, nil
}

func (l *Link) start(target string, dns *DNS) (err error) {
	l.target, l.dns, l.conns = target, dns, map[*pair]struct{}{}
	l.port, err = newPort(l.serve)
	return err
}

// Addr is where it listens, as 127.0.0.1:port. It stays the same.
func (l *Link) Addr() string { return l.port.addr.String() }

// Delay holds each chunk of bytes, or message of a DNS, back for latency, more or less by up to jitter. The
// next one is read afterwards, so what is written within one latency waits for up to two.
func (l *Link) Delay(latency, jitter time.Duration) (end func()) {
	return l.begin(linkFault{latency: latency, jitter: jitter})
}

// Slow lets only so many bytes pass in a second, on each connection in each direction. Less than
// one counts as one.
func (l *Link) Slow(bytesPerSecond int) (end func()) {
	return l.begin(linkFault{bytesPerSecond: max(1, bytesPerSecond)})
}

// Cut resets all connections, and refuses new ones until it ends.
func (l *Link) Cut() (end func()) { return l.begin(linkFault{cut: true}) }

// HalfOpen swallows all bytes in a direction, and closes nothing. Nobody is told of what the other
// side closes, either. New connections are accepted, and get no answer. Connections on which it was
// once half-open never recover: they stay silent until the Link is closed, or both sides have given
// up. New ones work when it ends.
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

// applyLocked does to the connections and to the port what the faults say. The rest is done when bytes come.
func (l *Link) applyLocked() {
	for p := range l.conns {
		p.kill(l.dead())
	}
	if !l.isCut() {
		l.port.open()
		return
	}
	l.port.shut()
	l.resetLocked()
}

func (l *Link) resetLocked() {
	for p := range l.conns {
		p.reset()
	}
}

func (l *Link) isCut() bool {
	return slices.ContainsFunc(l.faults.now(), func(f *fault[linkFault]) bool { return f.what.cut })
}

// dead returns in which directions the Link is half-open.
func (l *Link) dead() (d Direction) {
	for _, f := range l.faults.now() {
		d |= f.what.halfOpen
	}
	return d
}

// serve passes what comes on one connection, unless it isn't accepted.
func (l *Link) serve(client *net.TCPConn) {
	p := l.add(client)
	if p == nil {
		reset(client)
		return
	}
	defer l.remove(p)
	p.run()
}

// add returns nil for a connection that isn't accepted.
func (l *Link) add(client *net.TCPConn) *pair {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.isCut() {
		return nil
	}
	p := newPair(client, l)
	p.kill(l.dead())
	l.conns[p] = struct{}{}
	l.open.Add(1)
	return p
}

func (l *Link) remove(p *pair) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, p)
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
