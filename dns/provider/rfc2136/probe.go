package rfc2136

import (
	"context"
	"errors"
	"fmt"
	"time"

	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// Probe implements [provider.Prober]. With --rfc2136-axfr, Records is sufficient. Without it, the
// first server that responds is queried for the SOA of the zone, signed with the key.
func (p *Provider) Probe(ctx context.Context, dnsZone dns.Zone) (lists bool, err error) {
	z, err := p.find(dnsZone)
	if err != nil || p.axfr {
		return p.axfr, err
	}
	var errs []error
	for _, server := range p.servers.order(&p.listing, time.Now()) {
		err := p.probe(ctx, server, z)
		if err == nil {
			return false, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", server, err))
	}
	return false, fmt.Errorf("ask for the SOA of %s: %w", z.full, errors.Join(errs...))
}

func (p *Provider) probe(ctx context.Context, server string, z *zone) error {
	s, err := p.dialer.list(ctx, server)
	if err != nil {
		return err
	}
	defer s.close()
	reply, err := s.ask(ctx, z.full, mdns.TypeSOA)
	switch {
	case err != nil:
		return err
	case reply.Rcode != mdns.RcodeSuccess:
		return codeError(reply.Rcode)
	case !reply.Authoritative || len(reply.Answer) == 0:
		return fmt.Errorf("%w: the server is not authoritative for the zone", provider.ErrRejected)
	}
	return nil
}
