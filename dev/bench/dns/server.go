package dns

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/testkit/bindtest"
)

// server is a BIND that logs what it is asked, and a connection to ask it: over UDP,
// which tells these questions from those of the publisher. It is for one goroutine.
type server struct {
	bind *bindtest.Server
	key  bindtest.Key
	conn *mdns.Conn
}

func startServer(ctx context.Context) (*server, error) {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	s := &server{key: bindtest.Key{Name: "bench", Algorithm: "hmac-sha256", Secret: base64.StdEncoding.EncodeToString(secret)}}
	var err error
	s.bind, err = bindtest.Start(ctx, bindtest.Config{
		Zones:   []bindtest.Zone{{Name: dnsZone, Key: s.key.Name}},
		Keys:    []bindtest.Key{s.key},
		Options: "\tquerylog yes;\n",
	})
	if err != nil {
		return nil, err
	}
	if s.conn, err = mdns.DialTimeout("udp", s.bind.Addr.String(), time.Second); err != nil {
		return nil, errors.Join(err, s.bind.Stop())
	}
	return s, nil
}

// flags are those of a publisher for the zone.
func (s *server) flags() []string {
	return []string{
		"--provider=rfc2136", "--rfc2136-host=" + s.bind.Addr.Addr().String(), fmt.Sprintf("--rfc2136-port=%d", s.bind.Addr.Port()),
		"--rfc2136-zone=" + dnsZone, "--rfc2136-axfr", "--rfc2136-tsig-keyname=" + s.key.Name,
		"--rfc2136-tsig-secret-alg=" + s.key.Algorithm, "--rfc2136-tsig-secret=" + s.key.Secret,
	}
}

func (s *server) close() {
	_ = s.conn.Close()
	_ = s.bind.Stop()
}

// answers reports whether a name has that address and no other.
func (s *server) answers(name string, want netip.Addr) (bool, error) {
	query := new(mdns.Msg)
	query.SetQuestion(name, mdns.TypeA)
	if err := s.conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return false, err
	}
	if err := s.conn.WriteMsg(query); err != nil {
		return false, fmt.Errorf("ask for %s: %w", name, err)
	}
	reply, err := s.conn.ReadMsg()
	if err != nil {
		return false, fmt.Errorf("ask for %s: %w", name, err)
	}
	if reply.Id != query.Id || len(reply.Answer) != 1 {
		return false, nil
	}
	a, ok := reply.Answer[0].(*mdns.A)
	return ok && a.A.String() == want.String(), nil
}

// zoneContents counts what a zone has.
type zoneContents struct{ addresses, owned int }

// transfer reads the zone.
func (s *server) transfer() (zoneContents, error) {
	records, err := s.bind.Transfer(dnsZone, s.key)
	var z zoneContents
	for _, rr := range records {
		switch rr := rr.(type) {
		case *mdns.A:
			z.addresses++
		case *mdns.TXT:
			if strings.HasPrefix(rr.Hdr.Name, dnsOwnershipPrefix) && strings.Contains(strings.Join(rr.Txt, ""), dnsOwnershipLabel) {
				z.owned++
			}
		}
	}
	return z, err
}

// serverCalls are what the server was asked over TCP, as the publisher asks.
type serverCalls struct {
	// serials are questions for the SOA of the zone, transfers those for all of it, others
	// further questions; updates are records that were added or deleted.
	serials, transfers, others, updates int
}

func (c serverCalls) minus(before serverCalls) serverCalls {
	return serverCalls{c.serials - before.serials, c.transfers - before.transfers, c.others - before.others, c.updates - before.updates}
}

// calls counts the questions in the server's log.
func (s *server) calls() serverCalls {
	var c serverCalls
	for line := range strings.Lines(s.bind.Log()) {
		if strings.Contains(line, ": updating zone ") {
			c.updates++
		}
		_, question, ok := strings.Cut(line, ": query: ")
		f := strings.Fields(question) // name, class, type, flags, address
		if !ok || len(f) < 4 || !strings.Contains(f[3], "T") {
			continue
		}
		switch {
		case f[2] == "SOA" && f[0] == dnsZone:
			c.serials++
		case f[2] == "AXFR":
			c.transfers++
		default:
			c.others++
		}
	}
	return c
}
