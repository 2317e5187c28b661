package admin

import (
	"net"
	"net/netip"
	"sync"
)

const (
	// maxConnections limits the connections of a server, and maxConnectionsPerHost those from one
	// host.
	maxConnections, maxConnectionsPerHost = 512, 128
	// hostBits is the prefix of an IPv6 address that identifies a host, which may choose the rest.
	hostBits = 64
)

// limitConnections returns a listener with a limited number of connections. If a host has too many,
// its new connection is closed. If the server has too many, the host with the most loses its oldest
// one to a host with fewer, so that no client can lock out the kubelet's probes.
func limitConnections(l net.Listener) net.Listener {
	return &limitedListener{Listener: l, hosts: map[netip.Prefix][]*limitedConn{}}
}

type limitedListener struct {
	net.Listener

	mu    sync.Mutex
	total int
	hosts map[netip.Prefix][]*limitedConn // the connections of each host, the oldest first
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		limited := &limitedConn{Conn: conn, listener: l, host: hostOf(conn.RemoteAddr())}
		victim, ok := l.admit(limited)
		if victim != nil {
			_ = victim.Close() // its server notices
		}
		if ok {
			return limited, nil
		}
		_ = conn.Close() // the client has to notice
	}
}

// hostOf returns the key by which connections are counted. All non-IP addresses are one host.
func hostOf(a net.Addr) netip.Prefix {
	from, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Prefix{}
	}
	ip := from.Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() && !ip.IsLoopback() {
		bits = hostBits
	}
	// The number of bits fits the address.
	host, _ := ip.Prefix(bits)
	return host
}

// admit counts a connection, if it may stay. The victim, if any, has to be closed.
func (l *limitedListener) admit(c *limitedConn) (victim *limitedConn, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.hosts[c.host]) >= maxConnectionsPerHost {
		return nil, false
	}
	if l.total >= maxConnections {
		if victim = l.ofGreediest(); len(l.hosts[victim.host]) <= len(l.hosts[c.host])+1 {
			return nil, false
		}
		l.forget(victim)
	}
	l.total++
	l.hosts[c.host] = append(l.hosts[c.host], c)
	return victim, true
}

// ofGreediest returns the oldest connection of the host with the most.
func (l *limitedListener) ofGreediest() *limitedConn {
	var most []*limitedConn
	for _, conns := range l.hosts {
		if len(conns) > len(most) {
			most = conns
		}
	}
	return most[0]
}

// forget uncounts a connection. It is idempotent.
func (l *limitedListener) forget(c *limitedConn) {
	conns := l.hosts[c.host]
	for i, other := range conns {
		if other != c {
			continue
		}
		l.total--
		if l.hosts[c.host] = append(conns[:i:i], conns[i+1:]...); len(conns) == 1 {
			delete(l.hosts, c.host)
		}
		return
	}
}

// limitedConn is a connection that is counted until it is closed.
type limitedConn struct {
	net.Conn
	listener *limitedListener
	host     netip.Prefix
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	c.listener.mu.Lock()
	c.listener.forget(c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}
