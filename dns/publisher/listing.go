package publisher

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/provider"
)

// listZones starts to list the zones of the provider if that is due.
func (p *Publisher) listZones(now time.Time) {
	l := &p.zoneList
	if l.busy || now.Before(l.due) || now.Before(p.throttledUntil) {
		return
	}
	l.busy = true
	p.startWrite(listTimeout, func(ctx context.Context) func() {
		zones, err := p.Provider.Zones(ctx)
		var filter dns.Filter
		if f, ok := p.Provider.(provider.DomainFilterer); ok && err == nil {
			filter = f.DomainFilter(ctx)
		}
		return func() { p.listedZones(zones, filter, err) }
	})
}

func (p *Publisher) listedZones(zones []dns.Zone, filter dns.Filter, err error) {
	l := &p.zoneList
	l.busy = false
	defer func() { p.Metrics.zoneList(l) }()
	if errors.Is(err, provider.ErrThrottled) {
		p.throttle(err)
	}
	if err != nil {
		p.troubled(&l.trouble, "list the zones", err)
		l.due = l.retryAt
		return
	}
	p.untroubled(&l.trouble, "list the zones")
	l.due = time.Now().Add(max(p.Interval, p.Limits.ZonesCache))
	old := p.zones.all()
	next := make(map[zoneKey]*zone, len(zones))
	same := p.zones != nil && len(zones) == len(old)
	for _, z := range zones {
		kept := old[keyOf(z)]
		if kept == nil {
			same = false
			kept = newZone(z)
		}
		next[keyOf(z)] = kept
	}
	if same {
		p.zones = &zoneSet{finder: p.zones.finder, byKey: next, filter: filter}
		return
	}
	p.zones = &zoneSet{finder: dns.NewZoneFinder(zones), byKey: next, filter: filter}
	clear(p.zoneless)
	for name := range p.Desired.Names() {
		p.touch(name)
	}
}

// listRecords starts to read a zone.
func (p *Publisher) listRecords(z *zone) {
	z.busy = true
	p.startWrite(listTimeout, func(ctx context.Context) func() {
		err := p.Owner.Load(ctx)
		var records []*dns.RecordSet
		if err == nil {
			records, err = p.Provider.Records(ctx, z.Zone)
		}
		known := p.knownAnew()
		return func() {
			p.listedRecords(z, records, err)
			p.relabel(known)
		}
	})
}

func (p *Publisher) listedRecords(z *zone, records []*dns.RecordSet, err error) {
	z.busy = false
	p.Metrics.lastReconcile.SetToCurrentTime()
	if errors.Is(err, provider.ErrThrottled) {
		p.throttle(err)
		return
	}
	if err != nil {
		p.troubled(&z.reading, "read zone "+z.Name, err)
		p.Metrics.zone(z)
		return
	}
	p.throttles = 0
	before := z.mirror.relist(records)
	first := !z.listed
	z.known, z.listed, z.fresh = true, true, true
	z.verifyAt = time.Now().Add(p.untilNext(first))
	p.untroubled(&z.reading, "read zone "+z.Name)
	z.countOrphans()
	p.refresh(z, before)
	p.disown(z)
	if first {
		// Names that no object asks for must be planned too, once.
		for name := range z.mirror.names {
			z.dirty[name] = struct{}{}
		}
	}
	for name := range z.proposed {
		z.touch(name)
	}
	clear(z.proposed)
	p.Metrics.zone(z)
}

// untilNext returns how long a listing of a zone is good. Where zones have to wait for each
// other, their next listings are spread over the interval.
func (p *Publisher) untilNext(first bool) time.Duration {
	switch {
	case len(p.zones.all()) <= p.atATime:
		return p.Interval
	case first:
		return p.Interval/2 + rand.N(p.Interval/2)
	default:
		return p.Interval - rand.N(p.Interval/10+1)
	}
}

// refresh is called after the records under some names have changed; before has what was
// there. It works out again who owns the records of these names, and of the names that markers
// there describe, and has all of them planned.
func (p *Publisher) refresh(z *zone, before map[string][]*dns.RecordSet) {
	type place struct {
		z    *zone
		name string
	}
	affected := map[place]struct{}{}
	for name, gone := range before {
		affected[place{z, name}] = struct{}{}
		come := z.mirror.lookup(name)
		for described, m := range p.described(gone, come) {
			if other := p.zones.zoneOf(described); other != nil {
				other.mirror.mark(described, m.gone, m.come)
				affected[place{other, described}] = struct{}{}
			}
		}
	}
	p.unverified = p.unverified || len(affected) > 0
	id := p.Owner.ID()
	for a := range affected {
		a.z.mirror.count(a.name, id, -1)
		a.z.mirror.label(a.name, p.Owner, p.zones.lookup)
		a.z.mirror.count(a.name, id, +1)
		a.z.touch(a.name)
	}
}

// knownAnew returns the names whose ownership has changed outside of the zones.
func (p *Publisher) knownAnew() []string {
	if o, ok := p.Owner.(owner.Outside); ok {
		return o.Changed()
	}
	return nil
}

// relabel works out again who owns the records under some names.
func (p *Publisher) relabel(names []string) {
	for _, name := range names {
		if z := p.zones.zoneOf(name); z != nil {
			p.refresh(z, map[string][]*dns.RecordSet{name: z.mirror.lookup(name)})
		}
	}
}

// markers are the markers of a name that were removed and added.
type markers struct{ gone, come []*dns.RecordSet }

// described returns the names that markers among record sets describe, with these markers.
func (p *Publisher) described(gone, come []*dns.RecordSet) map[string]markers {
	found := map[string]markers{}
	for _, r := range gone {
		names, _ := p.Owner.Mark(r)
		for _, name := range names {
			m := found[name]
			m.gone = append(m.gone, r)
			found[name] = m
		}
	}
	for _, r := range come {
		names, _ := p.Owner.Mark(r)
		for _, name := range names {
			m := found[name]
			m.come = append(m.come, r)
			found[name] = m
		}
	}
	return found
}
