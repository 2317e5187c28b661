package process

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/signpostd/signpost/internal/logging"
)

// exhausted is a listener without file descriptors, until it is closed.
type exhausted struct {
	closed chan struct{}
}

// Accept implements net.Listener.
func (l exhausted) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, fmt.Errorf("accept: %w", net.ErrClosed)
	default:
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
	}
}

// Close implements net.Listener.
func (l exhausted) Close() error {
	close(l.closed)
	return nil
}

// Addr implements net.Listener.
func (l exhausted) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4zero, Port: 8086} }

// Without file descriptors no client is served, which one line each ten seconds says. The end of a server is
// no error.
func TestAcceptLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		listener := exhausted{closed: make(chan struct{})}
		server := grpc.NewServer()
		ended := make(chan error, 1)
		go func() {
			ended <- server.Serve(logAccept(listener, logging.New(logging.Config{Output: &text})))
		}()
		time.Sleep(25 * time.Second)
		server.Stop()
		if err := <-ended; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Errorf("Serve: %v", err)
		}
		const want = `level=error msg="Can't accept connections; trying again" server=0.0.0.0:8086 err="accept tcp: too many open files"`
		if lines := strings.Count(text.String(), "\n"); strings.Count(text.String(), want) != 3 || lines != 3 {
			t.Errorf("want three lines with %s in\n%s", want, text.String())
		}
	})
}
