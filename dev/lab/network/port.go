package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"
)

// reopenAfter is the pause before another attempt to open a port.
const reopenAfter = 10 * time.Millisecond

// port is a TCP port of 127.0.0.1 that can be shut, so that connections are refused, and opened again.
type port struct {
	addr    netip.AddrPort
	reserve *os.File // a socket that doesn't listen and reserves the port while it is shut
	handle  func(*net.TCPConn)
	accepts sync.WaitGroup

	mu       sync.Mutex
	listener *net.TCPListener // nil while shut
	retry    *time.Timer
	closed   bool
}

// newPort opens an unused port. handle is called for each connection in its own goroutine. close doesn't
// wait for these goroutines.
func newPort(handle func(*net.TCPConn)) (*port, error) {
	reserve, addr, err := reservePort()
	if err != nil {
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	listener, err := listenTCP(addr)
	if err != nil {
		_ = reserve.Close()
		return nil, err
	}
	g := &port{addr: addr, reserve: reserve, handle: handle}
	g.serve(listener)
	return g, nil
}

// reservePort binds a socket to an unused port. If both sockets have SO_REUSEADDR, which package net sets,
// Linux allows another one to bind to the same port and listen, as long as this one doesn't listen.
func reservePort() (*os.File, netip.AddrPort, error) {
	loopback := [4]byte{127, 0, 0, 1}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, netip.AddrPort{}, err
	}
	file := os.NewFile(uintptr(fd), "reserved port")
	err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Addr: loopback})
	}
	var name syscall.Sockaddr
	if err == nil {
		name, err = syscall.Getsockname(fd)
	}
	if err != nil {
		_ = file.Close()
		return nil, netip.AddrPort{}, err
	}
	bound := name.(*syscall.SockaddrInet4) // the family is AF_INET
	return file, netip.AddrPortFrom(netip.AddrFrom4(loopback), uint16(bound.Port)), nil
}

func listenTCP(addr netip.AddrPort) (*net.TCPListener, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp4", addr.String())
	if err != nil {
		return nil, err
	}
	return listener.(*net.TCPListener), nil // always, for tcp4
}

// serve is called with the mutex, or before the port is shared.
func (g *port) serve(listener *net.TCPListener) {
	g.listener = listener
	g.accepts.Go(func() {
		for {
			conn, err := listener.AcceptTCP()
			switch {
			case err == nil:
				go g.handle(conn)
			case errors.Is(err, net.ErrClosed):
				return
			default: // the connection has ended, or no file descriptor is free
				time.Sleep(reopenAfter)
			}
		}
	})
}

// shut refuses connections until open. Connections that have not been accepted are reset.
func (g *port) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shutLocked()
}

func (g *port) shutLocked() {
	if g.retry != nil {
		g.retry.Stop()
		g.retry = nil
	}
	if g.listener != nil {
		_ = g.listener.Close()
		g.listener = nil
	}
}

// open accepts connections again, as soon as a file descriptor is free.
func (g *port) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.listener != nil {
		return
	}
	listener, err := listenTCP(g.addr)
	if err != nil {
		g.retry = time.AfterFunc(reopenAfter, g.open)
		return
	}
	g.serve(listener)
}

// close shuts the port for ever.
func (g *port) close() {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		g.shutLocked()
		_ = g.reserve.Close()
	}
	g.mu.Unlock()
	g.accepts.Wait()
}
