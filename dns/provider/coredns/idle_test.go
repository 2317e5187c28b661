package coredns

import (
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
)

// If a device between the client and etcd drops the state of an idle connection, its packets are lost without
// an answer. The client notices that, and opens another connection.
func TestLostConnection(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes as long as the keepalive")
	}
	e := newEtcd(t)
	var dropped atomic.Int64 // the connections up to this number are lost
	address, opened := forward(t, strings.TrimPrefix(etcdURL, "http://"), &dropped)
	p := e.open(input("me"))
	p.store.config.Endpoints = []string{"http://" + address}
	if _, err := p.Records(t.Context(), dns.Zone{}); err != nil {
		t.Fatal(err)
	}
	dropped.Store(opened.Load())
	begun := time.Now()
	for {
		_, err := p.Records(t.Context(), dns.Zone{})
		if err == nil {
			return
		}
		if time.Since(begun) > 6*operationTimeout {
			t.Fatalf("after %v: %v", time.Since(begun), err)
		}
	}
}

// forward forwards connections to a server, until the test ends. It returns its address, and the number of
// opened connections. What the connections up to number dropped send is lost.
func forward(t *testing.T, server string, dropped *atomic.Int64) (address string, opened *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	opened = new(atomic.Int64)
	var running sync.WaitGroup
	pipe := func(number int64, to, from net.Conn) {
		defer to.Close()
		part := make([]byte, 32<<10)
		for {
			n, err := from.Read(part)
			if err != nil {
				return
			}
			if number <= dropped.Load() {
				continue
			}
			if _, err := to.Write(part[:n]); err != nil {
				return
			}
		}
	}
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", server)
			if err != nil {
				conn.Close()
				continue
			}
			number := opened.Add(1)
			running.Go(func() { pipe(number, up, conn) })
			running.Go(func() { pipe(number, conn, up) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	return l.Addr().String(), opened
}
