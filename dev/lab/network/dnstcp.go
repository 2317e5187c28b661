package network

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
)

// dnsStream is a TCP connection of a client with its connection to the name server. On both, each message has
// its length as a prefix (RFC 1035, section 4.2.2).
type dnsStream struct {
	dns    *DNS
	client *net.TCPConn
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	target *net.TCPConn // nil until it is connected
	// pending has the updates without response, by ID.
	pending map[uint16]*update
}

// serveTCP forwards the messages of one connection.
func (d *DNS) serveTCP(client *net.TCPConn) {
	s := d.add(client)
	if s == nil {
		reset(client)
		return
	}
	defer d.remove(s)
	s.run()
}

// add adds a connection. It returns nil if the connection isn't accepted.
func (d *DNS) add(client *net.TCPConn) *dnsStream {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.isCut() {
		return nil
	}
	s := &dnsStream{dns: d, client: client, pending: map[uint16]*update{}}
	s.ctx, s.cancel = context.WithCancel(d.ctx)
	d.streams[s] = struct{}{}
	d.open.Add(1)
	return s
}

func (d *DNS) remove(s *dnsStream) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.streams, s)
	d.open.Done()
}

// reset resets both connections.
func (s *dnsStream) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel()
	reset(s.client)
	if s.target != nil {
		reset(s.target)
	}
}

// run returns when both directions have ended.
func (s *dnsStream) run() {
	defer s.end()
	target := s.connect()
	if target == nil {
		s.reset()
		return
	}
	var back sync.WaitGroup
	back.Go(func() { s.pump(target, s.client, s.response) })
	s.pump(s.client, target, s.request)
	back.Wait()
}

// connect connects to the name server. It returns nil if that is unreachable.
func (s *dnsStream) connect() *net.TCPConn {
	target, err := dial(s.ctx, s.dns.target)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.target = target
	if s.ctx.Err() != nil {
		reset(target)
	}
	return target
}

// end closes the connections, and records the updates without response.
func (s *dnsStream) end() {
	s.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.client.Close()
	if s.target != nil {
		_ = s.target.Close()
	}
	for _, u := range s.pending {
		s.dns.record(u, nil)
	}
	clear(s.pending)
}

// pump calls pass with each message, including its length, until the end of the stream.
func (s *dnsStream) pump(from, to *net.TCPConn, pass func(framed []byte) error) {
	messages := bufio.NewReader(from)
	for {
		framed, err := readFramed(messages)
		if err == nil {
			err = pass(framed)
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			_ = to.CloseWrite()
			return
		default:
			s.reset()
			return
		}
	}
}

// readFramed reads a message with its length. The error is io.EOF if the connection ends between messages.
func readFramed(r *bufio.Reader) ([]byte, error) {
	length, err := r.Peek(2)
	if err != nil {
		return nil, err
	}
	framed := make([]byte, 2+int(binary.BigEndian.Uint16(length)))
	_, err = io.ReadFull(r, framed)
	return framed, err
}

// request forwards a message to the name server.
func (s *dnsStream) request(framed []byte) error {
	if u := s.dns.read(framed[2:]); u != nil {
		s.expect(u)
	}
	if s.dns.loses(ofRequests, s.ctx.Done()) {
		return nil
	}
	_, err := s.target.Write(framed)
	return err
}

// response forwards a message to the client.
func (s *dnsStream) response(framed []byte) error {
	if s.dns.loses(ofResponses, s.ctx.Done()) {
		return nil
	}
	if _, err := s.client.Write(framed); err != nil {
		return err
	}
	if u := s.matching(framed[2:]); u != nil {
		s.dns.record(u, framed[2:])
	}
	return nil
}

// expect adds an update. An earlier one with the same ID gets no response any more.
func (s *dnsStream) expect(u *update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.pending[u.id]; before != nil {
		s.dns.record(before, nil)
	}
	s.pending[u.id] = u
}

// matching returns the update that a message responds to, or nil.
func (s *dnsStream) matching(message []byte) *update {
	if len(message) < headerSize {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.pending[idOf(message)]
	delete(s.pending, idOf(message))
	return u
}
