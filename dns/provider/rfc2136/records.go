package rfc2136

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider"
)

// Records implements [provider.Provider]. Without --rfc2136-axfr, zones seem to be empty. With it,
// the first server that returns a complete zone is used.
func (p *Provider) Records(ctx context.Context, dnsZone dns.Zone) ([]*dns.RecordSet, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list zone %s: %w", dnsZone.Name, err)
	}
	z, err := p.find(dnsZone)
	if err != nil || !p.axfr {
		return nil, err
	}
	var errs []error
	for _, server := range p.servers.order(&p.listing, time.Now()) {
		sets, err := p.recordsFrom(ctx, server, z)
		if ctx.Err() == nil {
			p.servers.report(server, err, time.Now())
		}
		if err == nil {
			return slices.Clone(sets), nil
		}
		if ctx.Err() == nil {
			// Zones of the server may be restored meanwhile, with former serial numbers.
			for _, each := range p.zones {
				each.doubt(server)
			}
		}
		errs = append(errs, fmt.Errorf("%s: %w", server, err))
	}
	return nil, fmt.Errorf("list zone %s: %w", z.full, errors.Join(errs...))
}

func (p *Provider) recordsFrom(ctx context.Context, server string, z *zone) ([]*dns.RecordSet, error) {
	sent := z.sent()
	s, err := p.dialer.list(ctx, server)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if last := z.remembered(server, time.Now()); last != nil {
		if now := s.serial(ctx, z.full); now != 0 && now == last.serial {
			return last.sets, nil
		}
	}
	counted := p.budget.Zone(z.Zone)
	fresh := collector{zone: z, closest: p.closest, byKey: map[dns.Key]*dns.RecordSet{}, counted: counted}
	s.receivedBytes = counted.Receive
	serial, err := p.transfer(ctx, s, server, z, fresh.add)
	counted.End(err)
	if err != nil {
		return nil, err
	}
	for _, r := range fresh.sets {
		slices.Sort(r.Targets)
	}
	z.remember(&listing{server: server, serial: serial, at: time.Now(), sets: fresh.sets}, sent)
	return fresh.sets, nil
}

// transfer transfers a zone in a session. With Kerberos it is signed only if the server refuses it
// otherwise, because many servers allow transfers by address.
func (p *Provider) transfer(ctx context.Context, s *session, server string, z *zone, add func(mdns.RR) error) (serial uint32, err error) {
	serial, err = s.transfer(ctx, z.full, add)
	if p.dialer.kerberos == nil || !errors.Is(err, errRefused) {
		return serial, err
	}
	if signErr := p.dialer.kerberos.negotiate(ctx, s, server); signErr != nil {
		return 0, fmt.Errorf("%w; to sign it: %w", err, signErr)
	}
	return s.transfer(ctx, z.full, add)
}

// serial returns the serial number of a zone. If the server doesn't return it, the result is zero,
// which is no serial number (RFC 1982), and a transfer is made.
func (s *session) serial(ctx context.Context, zone string) uint32 {
	reply, err := s.ask(ctx, zone, mdns.TypeSOA)
	if err != nil || reply.Rcode != mdns.RcodeSuccess || !reply.Authoritative || len(reply.Answer) == 0 {
		return 0
	}
	soa, ok := reply.Answer[0].(*mdns.SOA)
	if !ok {
		return 0
	}
	return soa.Serial
}

// transfer calls add for each record of a zone, except the SOA at the start and end, and returns
// the serial number. After an error, only a part of the records was added.
func (s *session) transfer(ctx context.Context, zone string, add func(mdns.RR) error) (serial uint32, err error) {
	query := new(mdns.Msg)
	query.SetAxfr(zone)
	mac, err := s.send(ctx, query)
	if err != nil {
		return 0, err
	}
	t := transfer{zone: zone, add: add}
	for last := (signature{mac: mac}); !t.complete; {
		var reply *mdns.Msg
		if reply, last, err = s.receive(ctx, query, last); err != nil {
			return 0, fmt.Errorf("transfer: %w", err)
		}
		if err := codeError(reply.Rcode); err != nil {
			if errors.Is(err, provider.ErrCredentials) {
				return 0, fmt.Errorf("transfer: %w: allow transfers for this key or address at the server", err)
			}
			return 0, fmt.Errorf("transfer: %w: find the cause in the log of the server", err)
		}
		if err := t.take(reply); err != nil {
			return 0, fmt.Errorf("transfer: %w", err)
		}
	}
	return t.first.Serial, nil
}

// transfer is the state of a zone transfer.
type transfer struct {
	zone     string
	add      func(mdns.RR) error
	first    *mdns.SOA
	complete bool
}

// take processes one message (RFC 5936 2.2).
func (t *transfer) take(reply *mdns.Msg) error {
	if len(reply.Answer) == 0 {
		return errors.New("a message without records")
	}
	for _, rr := range reply.Answer {
		soa, isSOA := rr.(*mdns.SOA)
		switch {
		case t.complete:
			return errors.New("something follows the SOA at the end")
		case isSOA && !strings.EqualFold(soa.Hdr.Name, t.zone):
			return fmt.Errorf("it has the SOA of %s instead of that of %s", soa.Hdr.Name, t.zone)
		case t.first == nil && !isSOA:
			return fmt.Errorf("it begins with %s instead of the SOA of %s", rr.Header().Name, t.zone)
		case t.first == nil:
			t.first = soa
		case isSOA && soa.Serial != t.first.Serial:
			return fmt.Errorf("the serial number changed from %d to %d during the transfer", t.first.Serial, soa.Serial)
		case isSOA:
			t.complete = true
		default:
			if err := t.add(rr); err != nil {
				return err
			}
		}
	}
	return nil
}

// collector makes record sets from records.
type collector struct {
	zone    *zone
	closest func(name string) *zone
	byKey   map[dns.Key]*dns.RecordSet
	sets    []*dns.RecordSet
	// counted counts the record sets; nil for zones that don't come from a server.
	counted *listlimit.Listing
}

// add adds a record, if its type is supported and its name isn't in another zone.
func (c *collector) add(rr mdns.RR) error {
	h := rr.Header()
	name := mdns.TypeToString[h.Rrtype]
	if _, known := rrTypes[name]; !known || h.Class != mdns.ClassINET {
		return nil
	}
	target, err := targetOf(rr)
	if err != nil {
		return fmt.Errorf("%s %s: %w", h.Name, name, err)
	}
	key := dns.Key{Name: strings.ToLower(withoutDot(h.Name)), Type: name}
	set := c.byKey[key]
	if set == nil {
		if c.closest(key.Name) != c.zone {
			return nil
		}
		set = &dns.RecordSet{Name: key.Name, Type: name, TTL: int64(h.Ttl)}
		c.byKey[key] = set
		c.sets = append(c.sets, set)
		if err := c.count(1, mapSize+listlimit.EmptySetSize(key.Name)); err != nil {
			return err
		}
	}
	set.Targets = append(set.Targets, target)
	return c.count(0, listlimit.TargetSize(target))
}

// mapSize is the memory of a record set's entry in byKey, in bytes.
const mapSize = 96

func (c *collector) count(sets, bytes int) error {
	if c.counted == nil {
		return nil
	}
	return c.counted.Add(sets, bytes)
}
