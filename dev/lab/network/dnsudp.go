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
	// queriesUnderWay is how many requests over UDP wait for their answers. Further ones get lost, as in a full socket.
	queriesUnderWay = 256
	// answerTimeout is how long an answer is waited for.
	answerTimeout = 10 * time.Second
)

// serveUDP passes requests over UDP, each from a port of its own.
func (d *DNS) serveUDP() {
	var queries sync.WaitGroup
	defer queries.Wait()
	slots := make(chan struct{}, queriesUnderWay)
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

// query passes one request, and its answer back.
func (d *DNS) query(client netip.AddrPort, request []byte) {
	update := d.read(request)
	var passed []byte
	if answer := d.ask(request); answer != nil && !d.loses(ofAnswers, d.ctx.Done()) {
		if _, err := d.udp.WriteToUDPAddrPort(answer, client); err == nil {
			passed = answer
		}
	}
	if update != nil {
		d.record(update, passed)
	}
}

// ask returns nil if there is no answer.
func (d *DNS) ask(request []byte) []byte {
	if d.loses(ofRequests, d.ctx.Done()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(d.ctx, answerTimeout)
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
	answer := make([]byte, mdns.MaxMsgSize)
	for {
		n, err := conn.Read(answer)
		if err != nil {
			return nil
		}
		if n >= headerSize && idOf(answer) == idOf(request) {
			return answer[:n]
		}
	}
}
