package httplimits

import (
	"net"
	"net/netip"
	"sync"
)

// maxConnections limits the connections of a server, and maxConnectionsPerHost those from one host.
const maxConnections, maxConnectionsPerHost = 512, 128

// limitConnections returns a listener with a limited number of connections. It closes others.
func limitConnections(l net.Listener) net.Listener {
	return &limitedListener{Listener: l, places: newPlaces[*limitedConn](maxConnections, maxConnectionsPerHost)}
}

type limitedListener struct {
	net.Listener

	mu     sync.Mutex
	places places[*limitedConn]
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		limited := &limitedConn{Conn: conn, listener: l, host: hostOf(conn.RemoteAddr().String())}
		l.mu.Lock()
		victim, lost, ok := l.places.take(limited.host, limited)
		l.mu.Unlock()
		if lost {
			_ = victim.Close() // its server notices
		}
		if ok {
			return limited, nil
		}
		_ = conn.Close() // the client has to notice
	}
}

// limitedConn is a connection that is counted until it is closed.
type limitedConn struct {
	net.Conn
	listener *limitedListener
	host     netip.Addr
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	c.listener.mu.Lock()
	c.listener.places.leave(c.host, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}
