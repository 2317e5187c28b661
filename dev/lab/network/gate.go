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

// reopenAfter is the time until a port is opened again that couldn't be opened.
const reopenAfter = 10 * time.Millisecond

// gate is a TCP port of 127.0.0.1 that can be shut, so that connections are refused, and opened again.
type gate struct {
	addr    netip.AddrPort
	reserve *os.File // a socket with the port that doesn't listen: nobody else gets the port while it is shut
	handle  func(*net.TCPConn)
	accepts sync.WaitGroup

	mu       sync.Mutex
	listener *net.TCPListener // nil while shut
	retry    *time.Timer
	closed   bool
}

// newGate opens a port; 0 is any. For each connection, handle is called in a goroutine of its own, for which
// close doesn't wait.
func newGate(port uint16, handle func(*net.TCPConn)) (*gate, error) {
	reserve, addr, err := reservePort(port)
	if err != nil {
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	listener, err := listenTCP(addr)
	if err != nil {
		_ = reserve.Close()
		return nil, err
	}
	g := &gate{addr: addr, reserve: reserve, handle: handle}
	g.serve(listener)
	return g, nil
}

// reservePort binds a socket. Linux allows another socket to bind to the same port and to listen as long as this one
// doesn't listen, if both have SO_REUSEADDR, which those of package net have.
func reservePort(port uint16) (*os.File, netip.AddrPort, error) {
	loopback := [4]byte{127, 0, 0, 1}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, netip.AddrPort{}, err
	}
	file := os.NewFile(uintptr(fd), "reserved port")
	err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Addr: loopback, Port: int(port)})
	}
	var name syscall.Sockaddr
	if err == nil {
		name, err = syscall.Getsockname(fd)
	}
	if err != nil {
		_ = file.Close()
		return nil, netip.AddrPort{}, err
	}
	bound := name.(*syscall.SockaddrInet4) // it is of AF_INET
	return file, netip.AddrPortFrom(netip.AddrFrom4(loopback), uint16(bound.Port)), nil
}

func listenTCP(addr netip.AddrPort) (*net.TCPListener, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp4", addr.String())
	if err != nil {
		return nil, err
	}
	return listener.(*net.TCPListener), nil // that is what tcp4 gives
}

// serve is called with the mutex, or before anybody else has the gate.
func (g *gate) serve(listener *net.TCPListener) {
	g.listener = listener
	g.accepts.Go(func() {
		for {
			conn, err := listener.AcceptTCP()
			switch {
			case err == nil:
				go g.handle(conn)
			case errors.Is(err, net.ErrClosed):
				return
			default: // the connection is gone already, or the process has no file descriptor left
				time.Sleep(reopenAfter)
			}
		}
	})
}

// shut refuses connections until open. Those that nobody has accepted are reset.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shutLocked()
}

func (g *gate) shutLocked() {
	if g.retry != nil {
		g.retry.Stop()
		g.retry = nil
	}
	if g.listener != nil {
		_ = g.listener.Close()
		g.listener = nil
	}
}

// open accepts connections again. If the process has no file descriptor left, the gate opens when it has one.
func (g *gate) open() {
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

// close shuts the gate for ever.
func (g *gate) close() {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		g.shutLocked()
		_ = g.reserve.Close()
	}
	g.mu.Unlock()
	g.accepts.Wait()
}
