package page_test

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// proxy is a proxy between the browser and a server, like kubectl port-forward, that can be cut.
type proxy struct {
	url, target string
	listener    net.Listener
	work        sync.WaitGroup

	mu    sync.Mutex
	down  bool
	conns map[net.Conn]bool
}

func newProxy(t *testing.T, url string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{url: "http://" + l.Addr().String(), target: strings.TrimPrefix(url, "http://"), listener: l, conns: map[net.Conn]bool{}}
	p.work.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		p.work.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.work.Go(func() { p.join(c) })
	}
}

// hold adds a connection, and reports whether it is accepted.
func (p *proxy) hold(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.down {
		p.conns[c] = true
	}
	return !p.down
}

func (p *proxy) join(c net.Conn) {
	defer c.Close()
	to, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer to.Close()
	if !p.hold(c) || !p.hold(to) {
		return
	}
	p.work.Go(func() {
		_, _ = io.Copy(to, c)
		_ = to.Close()
	})
	_, _ = io.Copy(c, to)
}

// cut closes all connections, and refuses new ones.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	for c := range p.conns {
		_ = c.Close()
		delete(p.conns, c)
	}
}

func (p *proxy) restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}
