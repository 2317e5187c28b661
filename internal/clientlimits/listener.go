package clientlimits

import (
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// userTimeout is how long sent data may be unacknowledged before the kernel closes the connection. grpc-go
// sets the same timeout, but only for a *net.TCPConn, which limitedConn hides.
const userTimeout = 20 * time.Second

// logInterval is the time between two log lines about refused connections.
const logInterval = 10 * time.Second

// NewListener returns a listener that accepts as many connections as the limits allow. It resets others at
// once, because a client that waits in a backlog can't connect to another replica. It calls refused for each
// of them, and logs some of them.
func NewListener(l net.Listener, limits *Limits, refused func(Refusal), log *slog.Logger) net.Listener {
	return &limitedListener{
		Listener: l, limits: limits, refused: refused, log: log, lines: rate.Sometimes{First: 1, Interval: logInterval}, hosts: map[netip.Addr]int{},
	}
}

type limitedListener struct {
	net.Listener
	limits  *Limits
	refused func(Refusal)
	log     *slog.Logger
	lines   rate.Sometimes

	mu    sync.Mutex
	total int
	hosts map[netip.Addr]int // connections by host, without our own
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		client := ClientOf(conn.RemoteAddr(), conn.LocalAddr())
		reason, ok := l.admit(client)
		if ok {
			return l.limited(conn, client), nil
		}
		l.refused(reason)
		l.lines.Do(func() {
			l.log.Warn("Refusing connections, because there are too many", "limit", string(reason), "from", conn.RemoteAddr().String(), "server", l.Addr().String())
		})
		reset(conn)
	}
}

// admit counts a connection. Above a limit it returns the reason of the refusal and false.
func (l *limitedListener) admit(client ClientID) (why Refusal, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total >= l.limits.MaxConnections {
		return RefusedConnection, false
	}
	if isOtherHost(client) {
		if l.hosts[client.Addr()] >= l.limits.MaxConnectionsPerHost {
			return RefusedConnectionOfHost, false
		}
		l.hosts[client.Addr()]++
	}
	l.total++
	return "", true
}

// isOtherHost reports whether a client is another host, and not one connection of our own host.
func isOtherHost(client ClientID) bool { return client.IsValid() && client.Port() == 0 }

func (l *limitedListener) limited(conn net.Conn, client ClientID) net.Conn {
	if tcp, ok := conn.(*net.TCPConn); ok {
		// Without the timeout the kernel only notices later that a client has disappeared.
		_ = setUserTimeout(tcp, userTimeout)
	}
	return &limitedConn{Conn: conn, leave: sync.OnceFunc(func() { l.leave(client) })}
}

func (l *limitedListener) leave(client ClientID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if !isOtherHost(client) {
		return
	}
	if l.hosts[client.Addr()]--; l.hosts[client.Addr()] == 0 {
		delete(l.hosts, client.Addr())
	}
}

// reset closes a connection with a TCP RST, so that it leaves no state here and the client notices at once.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // without it, Close sends a FIN
	}
	_ = conn.Close()
}

// limitedConn is a connection that is no longer counted once it is closed.
type limitedConn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
