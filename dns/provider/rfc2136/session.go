package rfc2136

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dns/provider"
)

const (
	dialTimeout = 5 * time.Second
	// answerTimeout limits one message. A server writes an update to its disk before it responds.
	answerTimeout = 10 * time.Second
	// fudge is the allowed clock difference in seconds (RFC 8945 10).
	fudge = 300
)

// dialer opens connections.
type dialer struct {
	tls *tls.Config
	// key signs everything. kerberos signs updates, and transfers if the server requires it. Without
	// signatures both are nil.
	key                        *signer
	kerberos                   *kerberos
	dryRun                     bool
	dialTimeout, answerTimeout time.Duration
}

// signer signs messages with a key.
type signer struct {
	name, algorithm string
	provider        mdns.TsigProvider
}

// session is a connection to a server, used for one call at a time.
type session struct {
	conn    *mdns.Conn
	signer  *signer
	dryRun  bool
	timeout time.Duration
	// receivedBytes is called with the size of each message. It may be nil.
	receivedBytes func(int) error
	// closers are called at the end in reverse order.
	closers []func()
}

// list opens a connection for queries and transfers, which Kerberos doesn't sign at first.
func (d *dialer) list(ctx context.Context, address string) (*session, error) {
	s, err := d.connect(ctx, address)
	if err != nil {
		return nil, err
	}
	s.signer = d.key
	return s, nil
}

// update opens a connection for updates.
func (d *dialer) update(ctx context.Context, address string) (*session, error) {
	s, err := d.list(ctx, address)
	if err != nil || d.kerberos == nil || d.dryRun {
		return s, err
	}
	if err := d.kerberos.negotiate(ctx, s, address); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (d *dialer) connect(ctx context.Context, address string) (*session, error) {
	dialContext, cancel := context.WithTimeout(ctx, d.dialTimeout)
	defer cancel()
	var conn net.Conn
	var err error
	if d.tls == nil {
		conn, err = new(net.Dialer).DialContext(dialContext, "tcp", address)
	} else {
		// The server name to verify is the host of the address.
		conn, err = (&tls.Dialer{Config: d.tls}).DialContext(dialContext, "tcp", address)
	}
	if err != nil {
		return nil, fmt.Errorf("connect: %w", cause(ctx, err))
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	return &session{
		conn: &mdns.Conn{Conn: conn}, dryRun: d.dryRun, timeout: d.answerTimeout,
		closers: []func(){func() { stop(); conn.Close() }},
	}, nil
}

// cause returns the error of ctx if ctx has ended, else err without addresses. The callers name the
// server. The port of our end differs each time, so each retry would be reported as another error.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		return unresolved(lookup)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Addr != nil {
		err = op.Err
	}
	if call, ok := errors.AsType[*os.SyscallError](err); ok {
		err = call.Err
	}
	return err
}

// unresolved returns the error of a lookup without the host name.
func unresolved(lookup *net.DNSError) error {
	if lookup.Server == "" {
		return fmt.Errorf("resolve the host name: %s", lookup.Err)
	}
	return fmt.Errorf("resolve the host name at %s: %s", lookup.Server, lookup.Err)
}

func (s *session) close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
}

// exchange sends a message and returns the response with any response code. In a dry run it sends
// no updates.
func (s *session) exchange(ctx context.Context, m *mdns.Msg) (*mdns.Msg, error) {
	mac, err := s.send(ctx, m)
	if err != nil {
		return nil, err
	}
	reply, _, err := s.receive(ctx, m, signature{mac: mac})
	return reply, err
}

// ask sends a query for records of a type.
func (s *session) ask(ctx context.Context, name string, recordType uint16) (*mdns.Msg, error) {
	query := new(mdns.Msg)
	query.SetQuestion(name, recordType)
	query.RecursionDesired = false
	return s.exchange(ctx, query)
}

// signature is the signature that the next one includes (RFC 8945 5.3).
type signature struct {
	mac string
	// timersOnly is true after the first message of a response.
	timersOnly bool
}

func (s *session) send(ctx context.Context, m *mdns.Msg) (mac string, err error) {
	if s.dryRun && m.Opcode == mdns.OpcodeUpdate {
		return "", provider.ErrDryRun
	}
	packed, mac, err := s.pack(m)
	if err != nil {
		return "", fmt.Errorf("%w: encode the message: %w", provider.ErrRejected, err)
	}
	if len(packed) > mdns.MaxMsgSize {
		return "", fmt.Errorf("%w: the message has %d octets, which is more than %d", provider.ErrRejected, len(packed), mdns.MaxMsgSize)
	}
	if err := s.conn.SetDeadline(time.Now().Add(s.timeout)); err != nil {
		return "", cause(ctx, err)
	}
	if _, err := s.conn.Write(packed); err != nil {
		return "", fmt.Errorf("send: %w", cause(ctx, err))
	}
	return mac, nil
}

func (s *session) pack(m *mdns.Msg) (packed []byte, mac string, err error) {
	if s.signer == nil {
		packed, err = m.Pack()
		return packed, "", err
	}
	m.SetTsig(s.signer.name, s.signer.algorithm, fudge, time.Now().Unix())
	return mdns.TsigGenerateWithProvider(m, s.signer.provider, "", false)
}

// receive returns the next message of the response to m.
func (s *session) receive(ctx context.Context, m *mdns.Msg, last signature) (*mdns.Msg, signature, error) {
	if err := s.conn.SetDeadline(time.Now().Add(s.timeout)); err != nil {
		return nil, last, cause(ctx, err)
	}
	raw, err := s.conn.ReadMsgHeader(nil)
	if err != nil {
		return nil, last, fmt.Errorf("receive the answer: %w", cause(ctx, err))
	}
	if s.receivedBytes != nil {
		if err := s.receivedBytes(len(raw)); err != nil {
			return nil, last, err
		}
	}
	reply := new(mdns.Msg)
	if err := reply.Unpack(raw); err != nil {
		return nil, last, fmt.Errorf("decode the response: %w", err)
	}
	if reply.Id != m.Id || !reply.Response || reply.Opcode != m.Opcode {
		return nil, last, errors.New("the answer is to another query")
	}
	next, err := s.verify(raw, reply, last)
	return reply, next, err
}

// verify checks the signature of a response. A response that says that nothing was done needs none,
// because a server that doesn't know the key can't sign (RFC 8945 5.2).
func (s *session) verify(raw []byte, reply *mdns.Msg, last signature) (signature, error) {
	if s.signer == nil {
		return last, nil
	}
	t := reply.IsTsig()
	switch {
	case reply.Rcode == mdns.RcodeNotAuth && t != nil:
		return last, s.signer.refused(t.Error)
	case reply.Rcode != mdns.RcodeSuccess && t == nil:
		return last, nil
	case t == nil:
		return last, errors.New("the answer isn't signed")
	}
	// The verification changes the message, which isn't needed any more.
	if err := mdns.TsigVerifyWithProvider(raw, s.signer.provider, last.mac, last.timersOnly); err != nil {
		return last, fmt.Errorf("verify the signature of the answer: %w", err)
	}
	return signature{mac: t.MAC, timersOnly: true}, nil
}
