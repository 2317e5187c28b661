package network

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Ask connects from the namespace to a TCP address, and returns what the server sends until it
// closes the connection. net.Dial would need a thread for each connection that is being opened.
func (n *Namespace) Ask(target netip.AddrPort, deadline time.Time) (string, error) {
	var fd int
	err := n.Do(func() (err error) {
		fd, err = beginConnect(target)
		return err
	})
	if err != nil {
		return "", err
	}
	connection := os.NewFile(uintptr(fd), target.String())
	defer connection.Close()
	if err := connection.SetDeadline(deadline); err != nil {
		return "", err
	}
	if err := awaitConnected(connection); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(connection)
	return string(answer), err
}

// beginConnect makes a socket that doesn't block, and begins to connect it.
func beginConnect(target netip.AddrPort) (fd int, err error) {
	family, address := unix.AF_INET, unix.Sockaddr(&unix.SockaddrInet4{Port: int(target.Port()), Addr: as4(target.Addr())})
	if target.Addr().Is6() {
		family, address = unix.AF_INET6, &unix.SockaddrInet6{Port: int(target.Port()), Addr: target.Addr().As16()}
	}
	fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("make a socket: %w", err)
	}
	if err := unix.Connect(fd, address); err != nil && err != unix.EINPROGRESS {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// as4 returns the bytes of an IPv4 address, and zeros for another one.
func as4(a netip.Addr) (b [4]byte) {
	if a.Is4() {
		b = a.As4()
	}
	return b
}

// awaitConnected waits until a connection is open, or has failed.
func awaitConnected(connection *os.File) error {
	raw, err := connection.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Write(func(fd uintptr) (done bool) {
		code, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
		switch {
		case err != nil:
			failed = err
		case code != 0:
			failed = syscall.Errno(code)
		default:
			_, err := unix.Getpeername(int(fd))
			return err == nil // it is still being opened otherwise
		}
		return true
	})
	if failed != nil {
		return failed
	}
	return err
}
