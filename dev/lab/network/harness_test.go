package network_test

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/network"
	"github.com/signpostd/signpost/testkit/kubetest"
)

const (
	// soon is the time limit for expected events, and silence the time without unexpected ones.
	soon    = 20 * time.Second
	silence = 100 * time.Millisecond
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(kubetest.Wrap(m)) }

// writes returns the writes of replicas so far.
func writes(r *history.Recorder) []history.Entry {
	return r.History().Entries
}

// server accepts connections for a test.
type server struct {
	t     *testing.T
	l     *net.TCPListener
	conns chan *net.TCPConn
}

func newServer(t *testing.T) *server {
	t.Helper()
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t, l, make(chan *net.TCPConn, 100)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.AcceptTCP()
			if err != nil {
				return
			}
			s.conns <- conn
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
		close(s.conns)
		for conn := range s.conns {
			conn.Close()
		}
	})
	return s
}

// next returns the next connection.
func (s *server) next() *net.TCPConn {
	s.t.Helper()
	select {
	case conn := <-s.conns:
		s.t.Cleanup(func() { conn.Close() })
		return conn
	case <-time.After(soon):
		s.t.Fatal("no connection came")
		return nil
	}
}

// nobody fails the test if a connection exists or arrives.
func (s *server) nobody() {
	s.t.Helper()
	select {
	case <-s.conns:
		s.t.Error("a connection came")
	case <-time.After(silence):
	}
}

func newLink(t *testing.T, target string) *network.Link {
	t.Helper()
	l, err := network.NewLink(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func connect(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	conn, err := net.DialTimeout("tcp4", addr, soon)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.(*net.TCPConn)
}

// connected returns both ends of a connection through a link.
func connected(t *testing.T, l *network.Link, s *server) (client, target *net.TCPConn) {
	t.Helper()
	client = connect(t, l.Addr())
	return client, s.next()
}

func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Errorf("send %q: %v", text, err)
	}
}

// receives fails the test unless exactly this text arrives.
func receives(t *testing.T, conn net.Conn, want string) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(soon)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want))
	if n, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got[:n], err, want)
	}
}

// ends fails the test unless the connection ends with this error, without any data.
func ends(t *testing.T, conn net.Conn, want error) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(soon)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 100)); n != 0 || !errors.Is(err, want) {
		t.Errorf("got %d bytes, %v, want %v", n, err, want)
	}
}

// silent fails the test if data arrive or the connection ends.
func silent(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(silence)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 100)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %d bytes, %v, want silence", n, err)
	}
}

// dialer is a dialer of its own for each client, because client-go shares connections between clients with
// equal dialers.
type dialer struct{ net.Dialer }

// brokenReader is the missing rest of a body.
type brokenReader struct{}

// Read implements [io.Reader].
func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("the body breaks off") }
