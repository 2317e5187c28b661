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
	"github.com/signpostd/signpost/dns/provider"
)

// maxMessage is the maximum size of a message in octets, less room for a signature in the 65,535 of
// the protocol.
const maxMessage = 60_000

// errPending is the outcome of a change that has not been sent.
var errPending = errors.New("not sent")

// Apply implements [provider.Provider]. If a server refuses a message, it is split and sent again,
// down to the changes of one name and its ownership records, so that one name doesn't stop the
// others.
func (p *Provider) Apply(ctx context.Context, dnsZone dns.Zone, changes []dns.Change) error {
	z, err := p.find(dnsZone)
	switch {
	case p.dialer.dryRun:
		return provider.ErrDryRun
	case err != nil:
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("update zone %s: %w", z.full, ctx.Err())
	}
	a := attempt{provider: p, zone: z, outcomes: make([]error, len(changes))}
	for _, g := range p.groups(z, changes) {
		switch {
		case g.err != nil:
			a.setOutcome(g, g.err)
		case !g.changesNothing():
			a.setOutcome(g, errPending)
			a.groups = append(a.groups, g)
		}
	}
	if len(a.groups) > 0 {
		if err := a.firstServer(ctx); err != nil {
			return fmt.Errorf("update zone %s: %w", z.full, err)
		}
	}
	return a.result()
}

// Atomic implements [provider.Atomic]: the changes of a name are one message, whose prerequisites
// require that nothing exists that is to be created (RFC 2136, section 2.4).
func (p *Provider) Atomic() {}

type attempt struct {
	provider *Provider
	zone     *zone
	groups   []*group
	// outcomes has an entry for each change.
	outcomes []error
}

func (a *attempt) setOutcome(g *group, err error) {
	for _, e := range g.edits {
		a.outcomes[e.index] = err
	}
}

// firstServer sends the updates to the first server that accepts them. It tries the next server while
// it is certain that nothing was changed. It fails if the outcome is unknown.
func (a *attempt) firstServer(ctx context.Context) error {
	p := a.provider
	var unreachable []error
	for _, server := range p.servers.order(&p.updating, time.Now()) {
		reached, err := a.onServer(ctx, server)
		if ctx.Err() == nil {
			p.servers.report(server, err, time.Now())
		}
		switch {
		case err == nil:
			return nil
		case reached && !a.credentialsRefused() || ctx.Err() != nil:
			return fmt.Errorf("%s: %w", server, err)
		case !reached:
			unreachable = append(unreachable, fmt.Errorf("%s: %w", server, err))
		}
	}
	if a.credentialsRefused() {
		if a.allRefused() && p.acceptsCredentials(ctx, a.zone) {
			a.blameNames()
		}
		return nil
	}
	return errors.Join(unreachable...)
}

// allRefused reports whether everything was refused with the code that may be about the names.
func (a *attempt) allRefused() bool {
	return !slices.ContainsFunc(a.groups, func(g *group) bool { return !errors.Is(a.outcomes[g.edits[0].index], errRefused) })
}

// blameNames replaces the refusals by those of the names, after the credentials turned out to be
// valid.
func (a *attempt) blameNames() {
	for _, g := range a.groups {
		if errors.Is(a.outcomes[g.edits[0].index], errRefused) {
			a.setOutcome(g, g.refused())
		}
	}
}

// acceptsCredentials reports whether a server that responds accepts the credentials for reading:
// for a transfer, or without transfers for a query.
func (p *Provider) acceptsCredentials(ctx context.Context, z *zone) bool {
	for _, server := range p.servers.order(&p.listing, time.Now()) {
		s, err := p.dialer.list(ctx, server)
		if err != nil {
			continue
		}
		defer s.close()
		if !p.axfr {
			return s.serial(ctx, z.full) != 0
		}
		_, err = p.transfer(ctx, s, server, z, func(mdns.RR) error { return errEnough })
		return err == nil || errors.Is(err, errEnough)
	}
	return false
}

// errEnough ends a transfer of which only the beginning matters.
var errEnough = errors.New("nothing more is needed")

// credentialsRefused reports whether everything was refused because of the credentials.
func (a *attempt) credentialsRefused() bool {
	return !slices.ContainsFunc(a.groups, func(g *group) bool {
		return !errors.Is(a.outcomes[g.edits[0].index], provider.ErrCredentials)
	})
}

// onServer sends the updates to one server. It fails if the server is unreachable, if the outcome is
// unknown, or if the credentials are refused.
func (a *attempt) onServer(ctx context.Context, server string) (reached bool, err error) {
	s, err := a.provider.dialer.update(ctx, server)
	if err != nil {
		return false, err
	}
	defer s.close()
	a.zone.forget()
	for _, g := range a.groups {
		a.setOutcome(g, errPending)
	}
	for first := 0; first < len(a.groups); {
		end := a.batch(first)
		if err := a.send(ctx, s, a.groups[first:end]); err != nil {
			return true, err
		}
		first = end
	}
	if a.credentialsRefused() {
		return true, a.outcomes[a.groups[0].edits[0].index]
	}
	return true, nil
}

// batch returns the end of the groups that fit into one message, at least one.
func (a *attempt) batch(first int) int {
	end, edits, size := first, 0, 0
	for ; end < len(a.groups); end++ {
		edits += len(a.groups[end].edits)
		size += a.groups[end].size()
		if end > first && (edits > a.provider.batch || size > maxMessage) {
			break
		}
	}
	return end
}

// send sends groups in one message, or in two halves if the server refuses it. It fails if the
// outcome is unknown.
func (a *attempt) send(ctx context.Context, s *session, groups []*group) error {
	err := s.update(ctx, newMessage(a.zone, groups))
	switch {
	case err == nil:
		return a.made(ctx, s, groups)
	case !provider.NothingMade(err):
		return err
	case len(groups) == 1 || errors.Is(err, provider.ErrCredentials) && !errors.Is(err, errRefused):
		for _, g := range groups {
			a.setOutcome(g, g.unmet(err))
		}
		return nil
	}
	middle := len(groups) / 2
	if err := a.send(ctx, s, groups[:middle]); err != nil {
		return err
	}
	return a.send(ctx, s, groups[middle:])
}

// update sends an update and returns the error for the response.
func (s *session) update(ctx context.Context, m *mdns.Msg) error {
	reply, err := s.exchange(ctx, m)
	switch {
	case err != nil:
		return err
	case reply.Rcode == mdns.RcodeServerFailure:
		return fmt.Errorf("%w: find the cause in the log of the server; BIND fails if a name has more records of a type than max-records-per-type, which is 100 by default",
			codeError(reply.Rcode))
	}
	return codeError(reply.Rcode)
}

// made records that the server has made some groups, except for CNAMEs that it ignored.
func (a *attempt) made(ctx context.Context, s *session, groups []*group) error {
	for _, g := range groups {
		a.setOutcome(g, nil)
		for _, e := range g.aliases() {
			there, err := s.hasAlias(ctx, e.new[0].(*mdns.CNAME))
			if err != nil {
				return unknownOutcome("query "+e.name+" after the update", err)
			}
			if !there {
				a.outcomes[e.index] = fmt.Errorf("%w: the server ignored the CNAME %s, because the name has other records", provider.ErrRejected, e.name)
			}
		}
	}
	return nil
}

// unknownOutcome returns an error that doesn't say that nothing was changed.
func unknownOutcome(operation string, err error) error {
	if provider.NothingMade(err) {
		return fmt.Errorf("%s: %s", operation, err)
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// hasAlias queries a CNAME that was just created. If the server doesn't respond, the CNAME counts
// as created.
func (s *session) hasAlias(ctx context.Context, want *mdns.CNAME) (bool, error) {
	reply, err := s.ask(ctx, want.Hdr.Name, mdns.TypeCNAME)
	if err != nil || reply.Rcode != mdns.RcodeSuccess && reply.Rcode != mdns.RcodeNameError {
		return err == nil, err
	}
	return slices.ContainsFunc(reply.Answer, func(rr mdns.RR) bool {
		cname, ok := rr.(*mdns.CNAME)
		return ok && strings.EqualFold(cname.Target, want.Target)
	}), nil
}

// result returns the error of Apply when the outcome of each change is known.
func (a *attempt) result() error {
	made, letIn, accepted := 0, false, false
	for _, err := range a.outcomes {
		if err == nil {
			made++
		}
		accepted = accepted || err == nil || errors.Is(err, provider.ErrStale)
		letIn = letIn || !errors.Is(err, provider.ErrCredentials)
	}
	switch {
	case made == len(a.outcomes):
		return nil
	case !letIn:
		return fmt.Errorf("update zone %s: %w", a.zone.full, a.outcomes[0])
	}
	if accepted {
		// The server has processed other changes, so the credentials are valid.
		a.blameNames()
	}
	return &provider.ApplyError{Errs: slices.Clone(a.outcomes)}
}
