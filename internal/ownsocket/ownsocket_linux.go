package ownsocket

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

// name returns the name of a process's socket.
func name(port int) string { return "@signpost.dev/inspect/" + strconv.Itoa(port) }

// Listen returns a listener that accepts connections from processes of the same user or root, and closes
// others.
func Listen(ctx context.Context, port int) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "unix", name(port))
	if err != nil {
		return nil, fmt.Errorf("listen on the socket for our own user: %w", err)
	}
	return &listener{Listener: l}, nil
}

type listener struct{ net.Listener }

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if peer, err := peerOf(conn); err == nil && allowed(peer, os.Getuid()) {
			return conn, nil
		}
		_ = conn.Close() // the peer only sees EOF
	}
}

// Dial connects to the process, and checks that it belongs to the same user or root.
func Dial(ctx context.Context, port int) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", name(port))
	if err != nil {
		return nil, err
	}
	peer, err := peerOf(conn)
	if err == nil && allowed(peer, os.Getuid()) {
		return conn, nil
	}
	_ = conn.Close() // unused
	return nil, fmt.Errorf("the socket %s belongs to another user", name(port))
}

// allowed reports whether a peer is a process of the user or of root. The kernel reports process ID 0 for a
// process outside our PID namespace.
func allowed(peer *syscall.Ucred, user int) bool {
	return peer.Pid != 0 && (int(peer.Uid) == user || peer.Uid == 0)
}

func peerOf(conn net.Conn) (*syscall.Ucred, error) {
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("%T has no peer", conn)
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return nil, err
	}
	var peer *syscall.Ucred
	var found error
	if err := raw.Control(func(fd uintptr) {
		peer, found = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return nil, err
	}
	return peer, found
}
