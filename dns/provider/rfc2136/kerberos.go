package rfc2136

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/bodgit/gssapi"
	"github.com/bodgit/tsig"
	gssflags "github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dns/provider"
)

// kerberos is the user who signs with GSS-TSIG (RFC 3645).
type kerberos struct {
	realm, username, password string
}

const (
	// tkeyModeGSS is the mode of a negotiation by GSS-API (RFC 2930 2.5).
	tkeyModeGSS = 3
	// keyLifetime is the requested lifetime of a key. A server limits it to that of the
	// ticket.
	keyLifetime = time.Hour
	// contextFlags are those of RFC 3645 3.1.1, except that for the order of messages, which TCP
	// guarantees.
	contextFlags = gssflags.ContextFlagMutual | gssflags.ContextFlagReplay | gssflags.ContextFlagInteg
)

// negotiate negotiates a key with the server of a session, which then signs all messages. It uses
// the connection of the session, because another connection may lead to another server of the same
// name, which doesn't know the key.
func (k *kerberos) negotiate(ctx context.Context, s *session, address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("negotiate a Kerberos key: %w", err)
	}
	service := "DNS/" + strings.TrimSuffix(host, ".")
	initiator, token, err := k.begin(ctx, service)
	if err != nil {
		return fmt.Errorf("get a Kerberos ticket for %s as %s@%s: %w", service, k.username, k.realm, err)
	}
	s.closers = append(s.closers, func() { _ = initiator.Close() })
	name := mdns.CanonicalName(rand.Text() + ".signpost")
	answer, err := s.exchangeTokens(ctx, name, token)
	if err == nil {
		_, _, err = initiator.Initiate(service, contextFlags, answer)
	}
	if err != nil {
		return fmt.Errorf("negotiate a key with %s as %s@%s: %w", service, k.username, k.realm, err)
	}
	s.signer = &signer{name: name, algorithm: tsig.GSS, provider: gssSigner{initiator}}
	return nil
}

// begin logs in, and returns a security context and a token for a service. The library takes no
// contexts, so its result after the end of ctx is dropped.
func (k *kerberos) begin(ctx context.Context, service string) (*gssapi.Initiator, []byte, error) {
	type outcome struct {
		initiator *gssapi.Initiator
		token     []byte
		err       error
	}
	done := make(chan outcome)
	go func() {
		initiator, token, err := k.login(service)
		select {
		case done <- outcome{initiator, token, err}:
		case <-ctx.Done():
			if err == nil {
				_ = initiator.Close()
			}
		}
	}()
	select {
	case o := <-done:
		return o.initiator, o.token, o.err
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

func (k *kerberos) login(service string) (*gssapi.Initiator, []byte, error) {
	initiator, err := gssapi.NewInitiator(gssapi.WithRealm[gssapi.Initiator](k.realm),
		gssapi.WithUsername[gssapi.Initiator](k.username), gssapi.WithPassword[gssapi.Initiator](k.password))
	if err != nil {
		return nil, nil, ticketError(err)
	}
	token, _, err := initiator.Initiate(service, contextFlags, nil)
	if err != nil {
		// Without Close the library would renew the login forever.
		return nil, nil, errors.Join(ticketError(err), initiator.Close())
	}
	return initiator, token, nil
}

// userErrorCodes are the error codes of a KDC about the user (RFC 4120 7.5.9).
var userErrorCodes = []int32{
	errorcode.KDC_ERR_C_PRINCIPAL_UNKNOWN, errorcode.KDC_ERR_PREAUTH_FAILED, errorcode.KDC_ERR_CLIENT_REVOKED,
	errorcode.KDC_ERR_NAME_EXP, errorcode.KDC_ERR_KEY_EXPIRED, errorcode.KDC_ERR_CLIENT_NOTYET,
}

// ticketError adds advice to an error of the library, which has the response of the KDC only as
// text.
func ticketError(err error) error {
	text := err.Error()
	says := func(code int32) bool { return strings.Contains(text, errorcode.Lookup(code)) }
	switch {
	case slices.ContainsFunc(userErrorCodes, says) || strings.Contains(text, "client password/keytab incorrect"):
		return fmt.Errorf("%w: check --rfc2136-kerberos-username, --rfc2136-kerberos-password and --rfc2136-kerberos-realm: %w", provider.ErrCredentials, err)
	case says(errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN):
		return fmt.Errorf("the realm has no such service: give the name that the server has in Kerberos as --rfc2136-host: %w", err)
	}
	return err
}

// exchangeTokens sends a token and returns that of the server (RFC 3645 3.1.3).
func (s *session) exchangeTokens(ctx context.Context, name string, token []byte) ([]byte, error) {
	now := time.Now()
	m := new(mdns.Msg)
	m.SetQuestion(name, mdns.TypeTKEY)
	m.RecursionDesired = false
	m.Question[0].Qclass = mdns.ClassANY
	m.Extra = []mdns.RR{&mdns.TKEY{
		Hdr:       mdns.RR_Header{Name: name, Rrtype: mdns.TypeTKEY, Class: mdns.ClassANY},
		Algorithm: tsig.GSS, Mode: tkeyModeGSS,
		Inception: uint32(now.Unix()), Expiration: uint32(now.Add(keyLifetime).Unix()),
		KeySize: uint16(len(token)), Key: hex.EncodeToString(token),
	}}
	reply, err := s.exchange(ctx, m)
	if err != nil {
		return nil, err
	}
	return answeredToken(reply, name)
}

func answeredToken(reply *mdns.Msg, name string) ([]byte, error) {
	i := slices.IndexFunc(reply.Answer, func(rr mdns.RR) bool { return rr.Header().Rrtype == mdns.TypeTKEY })
	if reply.Rcode != mdns.RcodeSuccess || i < 0 {
		return nil, fmt.Errorf("the server doesn't negotiate keys (%s): give it a keytab, in BIND with tkey-gssapi-keytab",
			mdns.RcodeToString[reply.Rcode])
	}
	tkey, ok := reply.Answer[i].(*mdns.TKEY)
	switch {
	case !ok || !strings.EqualFold(tkey.Hdr.Name, name) || tkey.Error == mdns.RcodeSuccess && tkey.Key == "":
		return nil, errors.New("the server answered with another key")
	case tkey.Error != mdns.RcodeSuccess:
		return nil, fmt.Errorf("%w: the server doesn't accept the ticket (%s): its keytab may be out of date, or its clock differs",
			provider.ErrCredentials, mdns.RcodeToString[int(tkey.Error)])
	}
	token, err := hex.DecodeString(tkey.Key)
	if err != nil {
		return nil, fmt.Errorf("decode the token of the server: %w", err)
	}
	return token, nil
}

// gssSigner signs with a security context. A session uses it for one message at a time.
type gssSigner struct{ context *gssapi.Initiator }

// Generate implements [mdns.TsigProvider].
func (g gssSigner) Generate(message []byte, _ *mdns.TSIG) ([]byte, error) {
	return g.context.MakeSignature(message)
}

// Verify implements [mdns.TsigProvider].
func (g gssSigner) Verify(message []byte, t *mdns.TSIG) error {
	mac, err := hex.DecodeString(t.MAC)
	if err != nil {
		return fmt.Errorf("decode the signature: %w", err)
	}
	return g.context.VerifySignature(message, mac)
}
