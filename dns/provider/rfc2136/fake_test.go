package rfc2136

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	mdns "github.com/miekg/dns"
)

// listen serves each connection to a free port with a function, until the test ends. It
// returns the address.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	group.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			stop := context.AfterFunc(ctx, func() { conn.Close() })
			group.Go(func() {
				defer conn.Close()
				defer stop()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		cancel()
		l.Close()
		group.Wait()
	})
	return l.Addr().String()
}

// deaf answers nothing.
func deaf(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// scripted answers the first query of a connection with messages that depend on the query.
func scripted(answers ...func(*mdns.Msg)) func(net.Conn) {
	return func(conn net.Conn) {
		c := &mdns.Conn{Conn: conn}
		query, err := c.ReadMsg()
		if err != nil && !errors.Is(err, mdns.ErrSecret) {
			return
		}
		for _, edit := range answers {
			reply := new(mdns.Msg)
			reply.SetReply(query)
			edit(reply)
			packed, err := reply.Pack()
			if err != nil {
				return
			}
			if _, err := c.Write(packed); err != nil {
				return
			}
		}
	}
}

// proxy forwards connections to a server. It drops the answers to updates, and everything
// after that on the same connection. Then lost gets a value.
func proxy(t *testing.T, server string) (address string, lost <-chan struct{}) {
	answered := make(chan struct{}, 1)
	return listen(t, func(conn net.Conn) {
		up, err := net.Dial("tcp", server)
		if err != nil {
			return
		}
		defer up.Close()
		client, upstream := &mdns.Conn{Conn: conn}, &mdns.Conn{Conn: up}
		for {
			raw, err := client.ReadMsgHeader(nil)
			if err != nil {
				return
			}
			if _, err := upstream.Write(raw); err != nil {
				return
			}
			answer, err := upstream.ReadMsgHeader(nil)
			if err != nil {
				return
			}
			if opcode := answer[2] >> 3 & 0xf; opcode == mdns.OpcodeUpdate {
				answered <- struct{}{}
				deaf(conn)
				return
			}
			if _, err := client.Write(answer); err != nil {
				return
			}
		}
	}), answered
}
