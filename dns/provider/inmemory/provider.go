package inmemory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// Provider has zones in memory.
type Provider struct {
	dryRun bool

	mu    sync.Mutex
	zones map[string]*zone
	// privateZones are zones with the name of one of zones, by ID.
	privateZones map[string]*zone
}

// zone is a zone. Record sets are never changed, only replaced.
type zone struct {
	dns.Zone
	byName map[string][]*dns.RecordSet
	// sorted has all record sets in the order of listings; nil after a change.
	sorted []*dns.RecordSet
}

var _ provider.Provider = (*Provider)(nil)

// New returns a provider with empty zones. A name may be given twice.
func New(zones ...string) *Provider {
	p := &Provider{zones: map[string]*zone{}, privateZones: map[string]*zone{}}
	for _, name := range zones {
		// The only error is that the zone exists.
		_ = p.CreateZone(name)
	}
	return p
}

// CreateZone adds an empty zone. It fails if the zone exists.
func (p *Provider) CreateZone(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	canonical := dns.Canonical(name)
	if p.zones[canonical] != nil {
		return fmt.Errorf("create zone %s: it exists already", canonical)
	}
	p.zones[canonical] = newZone(dns.Zone{ID: canonical, Name: canonical})
	return nil
}

// CreatePrivateZone adds an empty private zone with the name of an existing zone. Put, Delete, Get
// and All use the public one.
func (p *Provider) CreatePrivateZone(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	canonical := dns.Canonical(name)
	private := dns.Zone{ID: "private/" + canonical, Name: canonical, Private: true}
	if p.zones[canonical] == nil || p.privateZones[private.ID] != nil {
		return fmt.Errorf("create a private zone %s: there is no public zone of that name, or a private one exists already", canonical)
	}
	p.privateZones[private.ID] = newZone(private)
	return nil
}

func newZone(z dns.Zone) *zone { return &zone{Zone: z, byName: map[string][]*dns.RecordSet{}} }

// Capabilities implements [provider.Provider]. Record sets are stored unchanged.
func (p *Provider) Capabilities() provider.Capabilities {
	return provider.Capabilities{SetIdentifiers: true, Conditional: true, Properties: []string{declared().Prefix}}
}

// Zones implements [provider.Provider].
func (p *Provider) Zones(ctx context.Context) ([]dns.Zone, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list the zones: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	zones := make([]dns.Zone, 0, len(p.zones)+len(p.privateZones))
	for _, list := range []map[string]*zone{p.zones, p.privateZones} {
		for _, z := range list {
			zones = append(zones, z.Zone)
		}
	}
	slices.SortFunc(zones, func(a, b dns.Zone) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return zones, nil
}

// Records implements [provider.Provider].
func (p *Provider) Records(ctx context.Context, zone dns.Zone) ([]*dns.RecordSet, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list the records of %s: %w", zone.Name, err)
	}
	return p.all(zone)
}

// Apply implements [provider.Provider]. It makes all changes or none, except for stale ones.
func (p *Provider) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	if p.dryRun {
		return provider.ErrDryRun
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("change %s: %w", zone.Name, err)
	}
	return p.apply(zone, changes)
}

func (p *Provider) apply(zone dns.Zone, changes []dns.Change) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	z, err := p.find(zone)
	if err != nil {
		return err
	}
	var existing []*dns.RecordSet
	for _, c := range changes {
		key := c.RecordSet().Key()
		if r := find(z.byName[key.Name], key); r != nil {
			existing = append(existing, r)
		}
	}
	return provider.ApplyUnchanged(changes, existing, func(changes []dns.Change) error { return p.make(z, changes) })
}

// make makes all changes or none. The caller has the lock.
func (p *Provider) make(z *zone, changes []dns.Change) error {
	b := batch{zone: z, closest: p.closest, names: map[string][]*dns.RecordSet{}, seen: make(map[dns.Key]bool, len(changes))}
	for _, c := range changes {
		if err := b.add(c); err != nil {
			return fmt.Errorf("change zone %s: %w: %w", z.Name, provider.ErrRejected, err)
		}
	}
	z.store(b.names)
	return nil
}

// store replaces the record sets under some names.
func (z *zone) store(names map[string][]*dns.RecordSet) {
	for name, sets := range names {
		if len(sets) == 0 {
			delete(z.byName, name)
		} else {
			z.byName[name] = sets
		}
	}
	z.sorted = nil
}

func (p *Provider) find(of dns.Zone) (*zone, error) {
	if private := p.privateZones[of.ID]; private != nil {
		return private, nil
	}
	z := p.zones[dns.Canonical(of.Name)]
	if z == nil {
		return nil, fmt.Errorf("%w: there is no zone %q: add it with --inmemory-zone", provider.ErrRejected, of.Name)
	}
	return z, nil
}

// closest returns the zone that contains a name, or nil.
func (p *Provider) closest(name string) *zone {
	z, _ := dns.ClosestZone(p.zones, name)
	return z
}

// All returns the record sets of a zone.
func (p *Provider) All(zone string) ([]*dns.RecordSet, error) {
	return p.all(dns.Zone{Name: zone})
}

func (p *Provider) all(zone dns.Zone) ([]*dns.RecordSet, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	z, err := p.find(zone)
	if err != nil {
		return nil, err
	}
	if z.sorted == nil {
		z.sort()
	}
	list := make([]*dns.RecordSet, len(z.sorted))
	for i, r := range z.sorted {
		list[i] = stored(r)
	}
	return list, nil
}

func (z *zone) sort() {
	z.sorted = make([]*dns.RecordSet, 0, len(z.byName))
	for _, sets := range z.byName {
		z.sorted = append(z.sorted, sets...)
	}
	slices.SortFunc(z.sorted, func(a, b *dns.RecordSet) int {
		ka, kb := a.Key(), b.Key()
		return cmp.Or(cmp.Compare(ka.Name, kb.Name), cmp.Compare(ka.Type, kb.Type), cmp.Compare(ka.SetIdentifier, kb.SetIdentifier))
	})
}

// Put stores a record set under its key, without checks. It fails if no zone contains the name.
func (p *Provider) Put(r *dns.RecordSet) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	key, z := r.Key(), p.closest(r.Name)
	if z == nil {
		return fmt.Errorf("put %s: no zone contains it", key.Name)
	}
	z.store(map[string][]*dns.RecordSet{key.Name: append(without(z.byName[key.Name], key), stored(r))})
	return nil
}

// Delete deletes the record set with a key, if there is one, without checks.
func (p *Provider) Delete(key dns.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if z := p.closest(key.Name); z != nil {
		z.store(map[string][]*dns.RecordSet{key.Name: without(z.byName[key.Name], key)})
	}
}

// Get returns the record set with a key, or nil.
func (p *Provider) Get(key dns.Key) *dns.RecordSet {
	p.mu.Lock()
	defer p.mu.Unlock()
	if z := p.closest(key.Name); z != nil {
		if r := find(z.byName[key.Name], key); r != nil {
			return stored(r)
		}
	}
	return nil
}

// stored returns a copy with the fields that a DNS server stores, and the label of Cloud Map.
func stored(r *dns.RecordSet) *dns.RecordSet {
	return &dns.RecordSet{
		Name: r.Name, Type: r.Type, SetIdentifier: r.SetIdentifier, TTL: r.TTL,
		Targets: slices.Clone(r.Targets), Properties: slices.Clone(r.Properties), Labels: dns.StoredLabels(r.Labels),
	}
}
