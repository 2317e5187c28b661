package clientlimits

import (
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// setUserTimeout sets TCP_USER_TIMEOUT, which limits how long sent data may be unacknowledged.
func setUserTimeout(conn *net.TCPConn, limit time.Duration) error {
	raw, err := conn.SyscallConn()
	if err == nil {
		var failed error
		err = raw.Control(func(fd uintptr) {
			failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(limit.Milliseconds()))
		})
		err = errors.Join(err, failed)
	}
	if err != nil {
		return fmt.Errorf("set the user timeout of the connection from %s: %w", conn.RemoteAddr(), err)
	}
	return nil
}
