package clientlimits

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/peer"
)

// userTimeout is how long sent data may be unacknowledged before the kernel closes the connection. grpc-go
// sets the same timeout, but only for a *net.TCPConn, which Connection hides.
const userTimeout = 20 * time.Second

// logInterval is the time between two log lines about refused connections, about closed ones, and about clients
// that were refused for one reason.
const logInterval = 10 * time.Second

// Connections are the open connections of a server. Make them with [NewConnections].
type Connections struct {
	limits  *Limits
	refused func(Refusal)
	log     *slog.Logger
	// refusedLines and cutLines limit the log lines about refused connections, and about those that were
	// closed because of what their clients didn't read.
	refusedLines, cutLines rate.Sometimes

	// unreadBytes is the result of the last check of unread responses.
	unreadBytes atomic.Int64

	mu    sync.Mutex
	total int
	hosts map[netip.Addr]int // connections by host, without our own
	tcp   map[addresses]*Connection
}

// addresses are the two ends of a connection with TCP.
type addresses struct{ remote, local netip.AddrPort }

// NewConnections returns the connections of a server with these limits. They call refused for each connection
// that is refused or closed, and log some of them.
func NewConnections(limits *Limits, refused func(Refusal), log *slog.Logger) *Connections {
	lines := func() rate.Sometimes { return rate.Sometimes{First: 1, Interval: logInterval} }
	return &Connections{
		limits: limits, refused: refused, log: log, refusedLines: lines(), cutLines: lines(), hosts: map[netip.Addr]int{}, tcp: map[addresses]*Connection{},
	}
}

// Listener returns a listener that accepts as many connections as the limits allow. It resets others at once,
// because a client that waits in a backlog can't connect to another replica.
func (cs *Connections) Listener(l net.Listener) net.Listener { return &limitedListener{l, cs} }

type limitedListener struct {
	net.Listener
	connections *Connections
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c, reason := l.connections.admit(conn)
		if c != nil {
			if tcp, ok := conn.(*net.TCPConn); ok {
				// Without the timeout the kernel only notices later that a client has disappeared.
				_ = setUserTimeout(tcp, userTimeout)
			}
			return c, nil
		}
		l.connections.refused(reason)
		l.connections.refusedLines.Do(func() {
			l.connections.log.Warn("Refusing connections, because there are too many", "limit", string(reason), "client", conn.RemoteAddr().String(), "server", l.Addr().String())
		})
		reset(conn)
	}
}

// admit adds a connection. Above a limit it returns nil and the reason.
func (cs *Connections) admit(conn net.Conn) (*Connection, Refusal) {
	client := ClientOf(conn.RemoteAddr(), conn.LocalAddr())
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.total >= cs.limits.MaxConnections {
		return nil, RefusedConnection
	}
	if isOtherHost(client) {
		if cs.hosts[client.Addr()] >= cs.limits.MaxConnectionsPerHost {
			return nil, RefusedConnectionOfHost
		}
		cs.hosts[client.Addr()]++
	}
	cs.total++
	c := &Connection{Conn: conn, client: client}
	c.leave = sync.OnceFunc(func() {
		cs.leave(c)
		c.ended.close()
	})
	if at, ok := addressesOf(conn.RemoteAddr(), conn.LocalAddr()); ok {
		cs.tcp[at] = c
	}
	return c, ""
}

// isOtherHost reports whether a client is another host, and not one connection of our own host.
func isOtherHost(client ClientID) bool { return client.IsValid() && client.Port() == 0 }

// addressesOf returns the addresses of a connection; ok is false without TCP.
func addressesOf(remote, local net.Addr) (at addresses, ok bool) {
	at.remote, ok = AddrPortOfTCP(remote)
	at.local, _ = AddrPortOfTCP(local)
	return at, ok
}

func (cs *Connections) leave(c *Connection) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.total--
	if at, ok := addressesOf(c.RemoteAddr(), c.LocalAddr()); ok && cs.tcp[at] == c {
		delete(cs.tcp, at)
	}
	if !isOtherHost(c.client) {
		return
	}
	if cs.hosts[c.client.Addr()]--; cs.hosts[c.client.Addr()] == 0 {
		delete(cs.hosts, c.client.Addr())
	}
}

// Of returns the connection of a call; nil without TCP.
func (cs *Connections) Of(ctx context.Context) *Connection {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	at, ok := addressesOf(p.Addr, p.LocalAddr)
	if !ok {
		return nil
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.tcp[at]
}

// open returns the open connections with TCP.
func (cs *Connections) open() []*Connection {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return slices.Collect(maps.Values(cs.tcp))
}

// reset closes a connection with a TCP RST, so that it leaves no state here and the client notices at once.
func reset(conn net.Conn) {
	if c, ok := conn.(*Connection); ok {
		defer c.leave()
		conn = c.Conn
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // without it, Close sends a FIN
	}
	_ = conn.Close()
}

// Connection is an open connection. It is no longer counted once it is closed.
type Connection struct {
	net.Conn
	client ClientID
	leave  func()
	unread unread
	ended  endedCalls
}

// Close implements net.Conn.
func (c *Connection) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
