package httplimits

import (
	"net"
	"net/netip"
	"sync"
)

// maxConnections limits the connections of a server, and maxConnectionsPerHost those from one host.
const maxConnections, maxConnectionsPerHost = 512, 128

// limitConnections returns a listener with a limited number of connections. For each new one beyond the limits
// it closes an old one, so that the probes of the kubelet pass while another client of the node's address has
// all connections that the address may have.
func limitConnections(l net.Listener) net.Listener {
	limited := &limitedListener{Listener: l, places: newPlaces[*limitedConn](maxConnections, maxConnectionsPerHost)}
	limited.places.evict = true
	return limited
}

type limitedListener struct {
	net.Listener

	mu     sync.Mutex
	places places[*limitedConn]
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	limited := &limitedConn{Conn: conn, listener: l, host: hostOf(conn.RemoteAddr().String())}
	l.mu.Lock()
	victim, lost, _ := l.places.take(limited.host, limited)
	l.mu.Unlock()
	if lost {
		_ = victim.Close() // its server notices
	}
	return limited, nil
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
