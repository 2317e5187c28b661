package network_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/signpostd/signpost/dev/lab/network"
)

func TestLinkPasses(t *testing.T) {
	s := newServer(t)
	client, target := connected(t, newLink(t, s.l.Addr().String()), s)
	send(t, client, "question")
	receives(t, target, "question")
	// Half of a connection can be closed.
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	ends(t, target, io.EOF)
	send(t, target, "answer")
	target.Close()
	receives(t, client, "answer")
	ends(t, client, io.EOF)
}

func TestLinkPassesResets(t *testing.T) {
	s := newServer(t)
	l := newLink(t, s.l.Addr().String())
	for _, of := range []string{"target", "client"} {
		a, b := connected(t, l, s)
		if of == "target" {
			a, b = b, a
		}
		if err := a.SetLinger(0); err != nil {
			t.Fatal(err)
		}
		a.Close()
		ends(t, b, syscall.ECONNRESET)
	}
	s.l.Close() // now the target is unreachable
	if err := echoed(l.Addr(), "x", soon); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("without a target: %v", err)
	}
}

func TestLinkDelays(t *testing.T) {
	s := newServer(t)
	l := newLink(t, s.l.Addr().String())
	client, target := connected(t, l, s)

	const latency, jitter = 100 * time.Millisecond, 20 * time.Millisecond
	end := l.Delay(latency, jitter)
	begun := time.Now()
	send(t, client, "late")
	receives(t, target, "late")
	if took := time.Since(begun); took < latency-jitter {
		t.Errorf("it took %v", took)
	}
	end()
	end() // calling end again has no effect

	// Delayed data arrive when the fault ends.
	end = l.Delay(time.Hour, 0)
	send(t, target, "back")
	silent(t, client)
	end()
	receives(t, client, "back")
}

func TestLinkIsSlow(t *testing.T) {
	s := newServer(t)
	l := newLink(t, s.l.Addr().String())
	client, target := connected(t, l, s)

	l.Slow(1 << 30)
	end := l.Slow(10_000) // the lowest limit applies
	begun := time.Now()
	text := strings.Repeat("x", 2500)
	send(t, client, text)
	receives(t, target, text)
	// The pause after the last piece, a twentieth of a second, isn't waited for.
	if took := time.Since(begun); took < 200*time.Millisecond {
		t.Errorf("2500 bytes took %v", took)
	}
	l.Slow(1)
	send(t, client, "it takes an hour")
	receives(t, target, "i")
	l.Heal()
	receives(t, target, "t takes an hour")
	end()
}

// TestLinkIsBounded shows that a reader that doesn't read stops the writer, and that the link buffers little.
func TestLinkIsBounded(t *testing.T) {
	s := newServer(t)
	client, _ := connected(t, newLink(t, s.l.Addr().String()), s)
	chunk := make([]byte, 1<<20)
	written := 0
	for {
		if err := client.SetWriteDeadline(time.Now().Add(5 * silence)); err != nil {
			t.Fatal(err)
		}
		n, err := client.Write(chunk)
		written += n
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if written > 64<<20 {
			t.Fatalf("%d bytes were taken that nobody has read", written)
		}
	}
}

func TestLinkIsCut(t *testing.T) {
	s := newServer(t)
	l := newLink(t, s.l.Addr().String())
	client, target := connected(t, l, s)
	addr := l.Addr()
	for range 3 {
		end := l.Cut()
		other := l.Cut()
		ends(t, client, syscall.ECONNRESET)
		ends(t, target, syscall.ECONNRESET)
		end()
		if conn, err := net.DialTimeout("tcp4", addr, soon); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("a new connection: %v, %v", conn, err)
		}
		other()
		client, target = connected(t, l, s)
		if l.Addr() != addr {
			t.Fatalf("%s became %s", addr, l.Addr())
		}
		send(t, client, "again")
		receives(t, target, "again")
	}
}

// TestLinkIsHalfOpen shows that neither side notices a half-open link: there is no reset and no end.
func TestLinkIsHalfOpen(t *testing.T) {
	s := newServer(t)
	l := newLink(t, s.l.Addr().String())
	client, target := connected(t, l, s)
	givesUp, left := connected(t, l, s)

	end := l.HalfOpen(network.Both)
	send(t, client, "lost")
	send(t, target, "lost")
	silent(t, client)
	silent(t, target)
	born := connect(t, l.Addr())
	send(t, born, "lost")
	silent(t, born)
	s.nobody()
	end()

	// A connection that was open stays dead.
	send(t, client, "lost too")
	send(t, target, "lost too")
	send(t, born, "lost too")
	silent(t, client)
	silent(t, target)
	silent(t, born)
	// If one side gives up, the other one doesn't notice.
	givesUp.Close()
	send(t, left, "lost too")
	silent(t, left)
	// New connections work.
	client2, target2 := connected(t, l, s)
	send(t, client2, "new")
	receives(t, target2, "new")

	l.Close()
	for _, conn := range []net.Conn{client, target, left, born, client2, target2} {
		ends(t, conn, syscall.ECONNRESET)
	}
}

func TestLinkIsHalfOpenInOneDirection(t *testing.T) {
	for name, tt := range map[string]struct {
		direction          network.Direction
		toTarget, toClient bool // which direction works
	}{
		"to the target": {network.ToTarget, false, true},
		"to the client": {network.ToClient, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			l := newLink(t, s.l.Addr().String())
			client, target := connected(t, l, s)
			l.HalfOpen(tt.direction)
			for _, way := range []struct {
				from, to net.Conn
				open     bool
			}{{client, target, tt.toTarget}, {target, client, tt.toClient}} {
				send(t, way.from, "hello")
				if way.open {
					receives(t, way.to, "hello")
				} else {
					silent(t, way.to)
				}
			}
		})
	}
}

// A connection to an unreachable target is silent while the link is half-open.
func TestLinkIsHalfOpenWithoutTarget(t *testing.T) {
	for _, d := range []network.Direction{network.ToTarget, network.ToClient} {
		s := newServer(t)
		l := newLink(t, s.l.Addr().String())
		s.l.Close()
		end := l.HalfOpen(d)
		client := connect(t, l.Addr())
		send(t, client, "lost")
		silent(t, client)
		end()
		silent(t, client)
	}
}

// Data that wait for a slow reader when the link becomes half-open are lost, and the writer continues.
func TestLinkIsHalfOpenForASlowReader(t *testing.T) {
	s := newServer(t)
	l := newLink(t, s.l.Addr().String())
	client, _ := connected(t, l, s)
	wrote := make(chan error)
	go func() {
		_, err := client.Write(make([]byte, 64<<20))
		wrote <- err
	}()
	select {
	case err := <-wrote:
		t.Fatalf("nobody reads, but all was written: %v", err)
	case <-time.After(silence):
	}
	l.HalfOpen(network.Both)
	select {
	case err := <-wrote:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(soon):
		t.Error("nothing is swallowed")
	}
}

// TestLinkUnderManyFaults shows that everything works, and nothing leaks, after random faults and
// connections.
func TestLinkUnderManyFaults(t *testing.T) {
	s := newServer(t)
	l := newLink(t, s.l.Addr().String())
	var echoes, clients sync.WaitGroup
	stop := make(chan struct{})
	echoes.Go(func() {
		for {
			select {
			case conn := <-s.conns:
				echoes.Go(func() {
					defer conn.Close()
					_, _ = io.Copy(conn, conn)
				})
			case <-stop:
				return
			}
		}
	})
	for i := range 8 {
		clients.Go(func() {
			for n := range 30 {
				_ = echoed(l.Addr(), fmt.Sprintf("%d-%d", i, n), silence)
			}
		})
	}
	clients.Go(func() {
		random := rand.New(rand.NewPCG(1, 2))
		var begun []func() // ends of faults
		for range 200 {
			faults := []func() func(){
				l.Cut,
				func() func() { return l.HalfOpen(network.Direction(1 + random.IntN(3))) },
				func() func() { return l.Slow(1000) },
				func() func() { return l.Delay(time.Millisecond, time.Millisecond) },
			}
			begun = append(begun, faults[random.IntN(len(faults))]())
			_ = echoed(l.Addr(), "x", time.Duration(random.IntN(10))*time.Millisecond)
			for len(begun) > random.IntN(3) {
				begun[0]()
				begun = begun[1:]
			}
		}
		l.Heal()
	})
	clients.Wait()
	if err := echoed(l.Addr(), "in the end", soon); err != nil {
		t.Error(err)
	}
	close(stop)
	l.Close()
	echoes.Wait()
}

// echoed sends a text and waits for its echo.
func echoed(addr, text string, timeout time.Duration) error {
	conn, err := net.DialTimeout("tcp4", addr, soon)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, text); err != nil {
		return err
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(conn, got); err != nil {
		return err
	}
	if string(got) != text {
		return fmt.Errorf("got %q, want %q", got, text)
	}
	return nil
}
