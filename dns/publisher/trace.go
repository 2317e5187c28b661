package publisher

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/tenancy"
)

// maxZonesTraced limits the zones that a [Trace] lists if none holds its name.
const maxZonesTraced = 20

// Trace is the path of a name from the objects that ask for it to its zones.
type Trace struct {
	// Name is canonical.
	Name string
	// Asks are the objects that ask for the name, in order of precedence. Unresolved is true if one of
	// them can't be evaluated.
	Asks       []desired.Origin
	Unresolved bool
	// Removals are those of Asks that ask for nothing any more, and whose records are about to be removed.
	Removals []Removal
	// Requests are the record sets of each of Asks.
	Requests [][]*dns.RecordSet
	// Wanted are their merged record sets, without those of namespaces in Refused.
	Wanted  []*dns.RecordSet
	Refused []tenancy.Refusal
	// Excluded is true if the user's domain filter excludes the name, ProviderExcludes if the
	// provider's does.
	Excluded, ProviderExcludes bool
	// Leads is true if this process leads. If not, it knows no zones, and the fields below are empty.
	Leads bool
	// Unread says why sources have not been read, by name. Nothing is planned before all were.
	Unread map[string]string
	// Listed is true once the zones have been listed. ListProblem says why they can't be.
	Listed      bool
	ListProblem string
	// HoldingZones are the zones that hold the name, mostly one. If none does, Zones are the first 20
	// zones, and More is the number of others.
	HoldingZones []ZoneTrace
	Zones        []dns.Zone
	More         int
}

// ZoneTrace is a zone that holds a name, and the state of the name there.
type ZoneTrace struct {
	dns.Zone
	// Apex is true if the name is that of the zone.
	Apex bool
	// Read is when the zone was last read; zero means never. Problem says why it can't be read or
	// written, and RetryAt when that is tried again.
	Read    time.Time
	Problem string
	RetryAt time.Time
	// Rows are the rows of the name.
	Rows []Row
	// Wildcard is the name of the wildcard record set that responds for the name while nothing exists
	// under it; empty if there is none.
	Wildcard string
	// HiddenBy is the listed NS or DNAME record set because of which the servers of the zone don't respond
	// with the name's other records; zero if there is none. Glue is true if the name is that of a server of
	// this delegation: its addresses are then needed in the zone.
	HiddenBy dns.Key
	Glue     bool
}

// Trace traces a name. It may be called in a process that doesn't lead.
func (p *Publisher) Trace(ctx context.Context, name string) (Trace, error) {
	t := Trace{Name: dns.Canonical(name)}
	err := p.visit(ctx, func() { p.traceName(&t) })
	return t, err
}

func (p *Publisher) traceName(t *Trace) {
	t.Asks, t.Unresolved = p.Desired.OriginsOf(t.Name), p.Desired.Unresolved(t.Name)
	t.Requests = p.Desired.RequestsOf(t.Name)
	t.Removals = p.removals(func(o desired.Origin) bool { return slices.Contains(t.Asks, o) })
	w := p.want(nil, t.Name)
	t.Wanted, t.Refused = w.sets(), w.refused
	t.Excluded = !p.Domains.Match(t.Name)
	t.Unread = map[string]string{}
	for i := range p.sources {
		if why := p.unreadReason(i); why != "" {
			t.Unread[p.Sources[i].Name] = why
		}
	}
	if t.Leads = p.term != nil; !t.Leads {
		return
	}
	if t.Listed = p.zones != nil; p.zoneList.err != nil {
		t.ListProblem = p.zoneList.err.Error()
	}
	if !t.Listed {
		return
	}
	t.ProviderExcludes = !p.zones.admits(t.Name)
	for _, z := range p.zones.zonesFor(t.Name) {
		t.HoldingZones = append(t.HoldingZones, p.traceZone(z, t.Name))
	}
	if len(t.HoldingZones) > 0 {
		return
	}
	for _, z := range p.zones.sorted() {
		if len(t.Zones) == maxZonesTraced {
			t.More++
			continue
		}
		t.Zones = append(t.Zones, z.Zone)
	}
}

// unreadReason returns why not all objects of a source are known; empty if they are.
func (p *Publisher) unreadReason(i int) string {
	s, src := &p.sources[i], p.Sources[i].Source
	err := s.err
	if src.Poll == nil && err == nil {
		err = p.conditions(src.Needed()).err()
	}
	switch {
	case s.read:
		return ""
	case err != nil:
		return err.Error()
	default:
		return "it is being read"
	}
}

func (p *Publisher) traceZone(z *zone, name string) ZoneTrace {
	h := ZoneTrace{Zone: z.Zone, Apex: dns.Canonical(z.Name) == name, Read: z.readAt, Rows: p.rowsAt(nameInZone{z, name})}
	if t := z.failure(); t.err != nil {
		h.Problem, h.RetryAt = t.err.Error(), t.retryAt
	}
	apex := dns.Canonical(z.Name)
	for at := name; at != apex && h.Wildcard == ""; {
		var found bool
		if _, at, found = strings.Cut(at, "."); !found {
			break
		}
		if len(z.mirror.lookup("*."+at)) > 0 && name != "*."+at {
			h.Wildcard = "*." + at
		}
	}
	h.HiddenBy, h.Glue = z.hiddenBy(name)
	return h
}

// hiddenBy returns the NS record set of a delegation at or above a canonical name, or the DNAME record set
// above it, that is nearest to the apex. Servers then respond with a referral or a redirection (RFC 1034,
// section 4.3.2; RFC 6672).
func (z *zone) hiddenBy(name string) (found dns.Key, glue bool) {
	apex := dns.Canonical(z.Name)
	for at := name; ; {
		for _, r := range z.mirror.lookup(at) {
			if r.Type == dns.TypeNS && at != apex || r.Type == dns.TypeDNAME && at != name {
				found = r.Key()
				glue = r.Type == dns.TypeNS && slices.ContainsFunc(r.Targets, func(target string) bool { return dns.Canonical(target) == name })
			}
		}
		_, parent, more := strings.Cut(at, ".")
		if at == apex || !more {
			return found, glue
		}
		at = parent
	}
}
