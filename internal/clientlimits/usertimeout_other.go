//go:build !linux

package clientlimits

import (
	"net"
	"time"
)

// setUserTimeout does nothing, because only Linux has TCP_USER_TIMEOUT.
func setUserTimeout(*net.TCPConn, time.Duration) error { return nil }
