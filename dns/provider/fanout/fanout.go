package fanout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// Unfinished is the property of a listed record set whose last change has not been made by
// every provider.
const Unfinished = "fanout/unfinished"

// Provider hands changes to several providers.
type Provider struct {
	members []provider.Provider

	mu sync.Mutex
	// zones are the zones by name.
	zones map[string]*zone
}

// zone is a zone, and the zones of the providers that have it.
type zone struct {
	dns.Zone
	// parts has the zone of each provider.
	parts []dns.Zone

	mu sync.Mutex
	// has has the record sets of each provider; nil if they aren't known.
	has []map[dns.Key]*dns.RecordSet
	// unfinished has the keys whose last change was made by some providers only.
	unfinished map[dns.Key]bool
}

var (
	_ provider.Provider       = (*Provider)(nil)
	_ provider.Adjuster       = (*Provider)(nil)
	_ provider.Batcher        = (*Provider)(nil)
	_ provider.DomainFilterer = (*Provider)(nil)
)

// New returns a provider that hands changes to all members. There must be at least one.
func New(members []provider.Provider) *Provider {
	return &Provider{members: slices.Clone(members), zones: map[string]*zone{}}
}

// each calls a function for all providers at the same time, and returns their errors.
func (p *Provider) each(call func(i int, member provider.Provider) error) []error {
	errs := make([]error, len(p.members))
	var group sync.WaitGroup
	for i, member := range p.members {
		group.Go(func() { errs[i] = call(i, member) })
	}
	group.Wait()
	return errs
}

// named joins the errors of providers, and adds which provider each is from.
func named(errs []error) error {
	var list []error
	for i, err := range errs {
		if err != nil {
			list = append(list, fmt.Errorf("provider %d: %w", i+1, err))
		}
	}
	return errors.Join(list...)
}

// Zones implements [provider.Provider].
func (p *Provider) Zones(ctx context.Context) ([]dns.Zone, error) {
	lists := make([][]dns.Zone, len(p.members))
	err := named(p.each(func(i int, member provider.Provider) (err error) {
		lists[i], err = member.Zones(ctx)
		return err
	}))
	if err != nil {
		return nil, err
	}
	found, err := common(lists)
	if err != nil {
		return nil, err
	}
	return p.adopt(found), nil
}

// adopt replaces the zones, and keeps what is known of those that stay the same.
func (p *Provider) adopt(found []*zone) []dns.Zone {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.zones
	p.zones = map[string]*zone{}
	list := make([]dns.Zone, len(found))
	for i, z := range found {
		if same := before[z.Name]; same != nil && slices.Equal(same.parts, z.parts) {
			z = same
		}
		p.zones[z.Name] = z
		list[i] = z.Zone
	}
	return list
}

// common returns the zones that are in all lists, sorted by name.
func common(lists [][]dns.Zone) ([]*zone, error) {
	names := map[string]bool{}
	for _, list := range lists {
		for _, z := range list {
			names[dns.Canonical(z.Name)] = true
		}
	}
	finders := make([]*dns.ZoneFinder, len(lists))
	for i, list := range lists {
		finders[i] = dns.NewZoneFinder(list)
	}
	var found []*zone
	for name := range names {
		z := &zone{
			Zone: dns.Zone{ID: name, Name: name, Private: true}, unfinished: map[dns.Key]bool{},
			has: make([]map[dns.Key]*dns.RecordSet, len(lists)),
		}
		for _, finder := range finders {
			parts := finder.FindAll(name)
			if len(parts) > 1 {
				return nil, fmt.Errorf("a provider has %d zones named %s: choose one of them with --zone-id-filter", len(parts), parts[0].Name)
			}
			if len(parts) == 1 {
				z.parts = append(z.parts, parts[0])
				z.Private = z.Private && parts[0].Private
			}
		}
		if len(z.parts) == len(lists) {
			found = append(found, z)
		}
	}
	slices.SortFunc(found, func(a, b *zone) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// Adjust implements [provider.Adjuster]. The record sets go through all providers twice, so
// that each one sees the result of the others.
func (p *Provider) Adjust(ctx context.Context, wanted []*dns.RecordSet) ([]*dns.RecordSet, error) {
	for range 2 {
		for i, member := range p.members {
			adjuster, ok := member.(provider.Adjuster)
			if !ok {
				continue
			}
			var err error
			if wanted, err = adjuster.Adjust(ctx, wanted); err != nil {
				return nil, fmt.Errorf("provider %d: %w", i+1, err)
			}
		}
	}
	return wanted, nil
}

// Batch implements [provider.Batcher]. It returns the smallest size and the longest interval
// of all providers.
func (p *Provider) Batch() (size int, interval time.Duration) {
	for _, member := range p.members {
		if b, ok := member.(provider.Batcher); ok {
			n, pause := b.Batch()
			if n > 0 && (size == 0 || n < size) {
				size = n
			}
			interval = max(interval, pause)
		}
	}
	return size, interval
}

// DomainFilter implements [provider.DomainFilterer]. A name has to pass the filters of all
// providers.
func (p *Provider) DomainFilter(ctx context.Context) dns.Filter {
	var all []dns.Filter
	for _, member := range p.members {
		if f, ok := member.(provider.DomainFilterer); ok {
			all = append(all, f.DomainFilter(ctx))
		}
	}
	return dns.MatchAll(all...)
}

func (p *Provider) find(name string) (*zone, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if z := p.zones[dns.Canonical(name)]; z != nil {
		return z, nil
	}
	return nil, fmt.Errorf("%w: %q is not a zone of all providers", provider.ErrRejected, name)
}

// closest returns the zone that contains a name, or nil.
func (p *Provider) closest(name string) *zone {
	p.mu.Lock()
	defer p.mu.Unlock()
	z, _ := dns.ClosestZone(p.zones, name)
	return z
}
