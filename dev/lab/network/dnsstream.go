package network

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
)

// dnsStream is a connection of a client, and the one to the name server that belongs to it. On
// both, each message follows its length (RFC 1035, section 4.2.2).
type dnsStream struct {
	ends
	dns *DNS
	// pending has the updates without an answer by their ID. The mutex guards it too.
	pending map[uint16]*update
}

func (d *DNS) newStream(client *net.TCPConn) *dnsStream {
	s := &dnsStream{dns: d, pending: map[uint16]*update{}}
	s.begin(client)
	return s
}

// run returns when both sides are done.
func (s *dnsStream) run() {
	defer s.end()
	target, err := s.dial(s.dns.target)
	if err != nil {
		s.reset()
		return
	}
	pass(func() { s.pump(s.client, target, s.request) }, func() { s.pump(target, s.client, s.response) })
}

// end closes what is open, and records the updates that got no answer.
func (s *dnsStream) end() {
	s.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.pending {
		s.dns.record(u, nil)
	}
	clear(s.pending)
}

// pump calls pass with each message, with its length, until there are no more.
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

// readFramed returns a message with its length before it. The error is io.EOF if the connection
// ends between messages.
func readFramed(r *bufio.Reader) ([]byte, error) {
	length, err := r.Peek(2)
	if err != nil {
		return nil, err
	}
	framed := make([]byte, 2+int(binary.BigEndian.Uint16(length)))
	_, err = io.ReadFull(r, framed)
	return framed, err
}

// request passes a message to the name server.
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

// answer passes a message back.
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

// expect notes an update. One before it with the same ID gets no answer any more.
func (s *dnsStream) expect(u *update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.pending[u.id]; before != nil {
		s.dns.record(before, nil)
	}
	s.pending[u.id] = u
}

// answered returns the update that a message answers, if there is one.
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
