package network

import (
	"cmp"
	"context"
	"fmt"
	"net"
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
	passage[linkFault, *pair]
}

// linkFault is one of these.
type linkFault struct {
	latency, jitter time.Duration
	bytesPerSecond  int
	cut             bool
	halfOpen        Direction
}

func (f linkFault) cuts() bool { return f.cut }

// NewLink listens on a free port of 127.0.0.1 and passes connections to the target, which is host:port.
func NewLink(target string) (*Link, error) {
	l := &Link{}
	l.connect = func(client *net.TCPConn) *pair {
		p := newPair(client, target, &l.faults)
		p.kill(l.dead())
		return p
	}
	l.changed = func() {
		for p := range l.conns {
			p.kill(l.dead())
		}
	}
	var err error
	if l.port, err = newPort(l.serve); err != nil {
		return nil, fmt.Errorf("make a link to %s: %w", target, err)
	}
	return l, nil
}

// Delay holds each chunk of bytes back for latency, more or less by up to jitter. The next chunk is
// read afterwards, so what is written within one latency waits for up to two.
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

// Close resets all connections and ends the Link.
func (l *Link) Close() { l.end() }

// dead returns in which directions the Link is half-open.
func (l *Link) dead() (d Direction) {
	for _, f := range l.faults.now() {
		d |= f.what.halfOpen
	}
	return d
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
