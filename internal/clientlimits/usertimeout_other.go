//go:build !linux

package clientlimits

import (
	"net"
	"time"
)

// setUserTimeout does nothing: only Linux has such a timeout.
func setUserTimeout(*net.TCPConn, time.Duration) error { return nil }
