package process

import (
	"errors"
	"log/slog"
	"net"
	"time"

	"golang.org/x/time/rate"
)

// acceptLogInterval is the time between two log lines about connections that can't be accepted.
const acceptLogInterval = 10 * time.Second

// acceptLog is a listener that logs why connections can't be accepted, such as without a free file
// descriptor. The servers of gRPC and net/http try again, and log the error at debug level only, because
// most of their errors are about single connections.
type acceptLog struct {
	net.Listener
	log   *slog.Logger
	lines rate.Sometimes
}

func logAccept(l net.Listener, log *slog.Logger) net.Listener {
	return &acceptLog{Listener: l, log: log, lines: rate.Sometimes{First: 1, Interval: acceptLogInterval}}
}

// Accept implements net.Listener.
func (l *acceptLog) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		l.lines.Do(func() {
			l.log.Error("Can't accept connections; trying again", "server", l.Addr().String(), "err", err)
		})
	}
	return conn, err
}
