package network

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	mdns "github.com/miekg/dns"
)

const (
	// maxQueries is the maximum number of UDP requests that wait for a response. Further ones are dropped, as
	// by a full socket.
	maxQueries = 256
	// responseTimeout is the time limit of a response.
	responseTimeout = 10 * time.Second
)

// serveUDP forwards requests over UDP, each from its own port.
func (d *DNS) serveUDP() {
	var queries sync.WaitGroup
	defer queries.Wait()
	slots := make(chan struct{}, maxQueries)
	buffer := make([]byte, mdns.MaxMsgSize)
	for {
		n, client, err := d.udp.ReadFromUDPAddrPort(buffer)
		if d.ctx.Err() != nil {
			return
		}
		if err != nil || n < headerSize {
			continue
		}
		request := slices.Clone(buffer[:n])
		select {
		case slots <- struct{}{}:
			queries.Go(func() {
				defer func() { <-slots }()
				d.query(client, request)
			})
		default:
		}
	}
}

// query forwards one request and its response.
func (d *DNS) query(client netip.AddrPort, request []byte) {
	update := d.read(request)
	var passed []byte
	if response := d.exchange(request); response != nil && !d.loses(ofResponses, d.ctx.Done()) {
		if _, err := d.udp.WriteToUDPAddrPort(response, client); err == nil {
			passed = response
		}
	}
	if update != nil {
		d.record(update, passed)
	}
}

// exchange sends a request and returns the response, or nil if there is none.
func (d *DNS) exchange(request []byte) []byte {
	if d.loses(ofRequests, d.ctx.Done()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(d.ctx, responseTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "udp", d.target)
	if err != nil {
		return nil
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer conn.Close()
	if _, err := conn.Write(request); err != nil {
		return nil
	}
	response := make([]byte, mdns.MaxMsgSize)
	for {
		n, err := conn.Read(response)
		if err != nil {
			return nil
		}
		if n >= headerSize && idOf(response) == idOf(request) {
			return response[:n]
		}
	}
}
