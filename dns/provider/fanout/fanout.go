package fanout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// Unfinished is the property of a listed record set whose last change was not made by every
// provider.
const Unfinished = "fanout/unfinished"

// Provider passes changes to several providers.
type Provider struct {
	members []provider.Provider

	mu sync.Mutex
	// zones are the zones by name, and twins those that can't be used.
	zones map[string]*zone
	twins twins
}

// zone is a zone, with the zones of the providers that have it.
type zone struct {
	dns.Zone
	// parts has the zone of each provider, without its version.
	parts []dns.Zone

	mu sync.Mutex
	// has has the record sets of each provider; nil if unknown.
	has []map[dns.Key]*dns.RecordSet
	// unfinished has the keys whose last change was made by some providers only.
	unfinished map[dns.Key]bool
}

var (
	_ provider.Provider         = (*Provider)(nil)
	_ provider.Adjuster         = (*Provider)(nil)
	_ provider.DomainFilterer   = (*Provider)(nil)
	_ provider.Confirmer        = (*Provider)(nil)
	_ provider.Prober           = (*Provider)(nil)
	_ provider.NameServerLister = (*Provider)(nil)
)

// New returns a provider that passes changes to all members. There must be at least one.
func New(members []provider.Provider) *Provider {
	return &Provider{members: slices.Clone(members), zones: map[string]*zone{}}
}

// each calls a function for all providers in parallel, and returns their errors.
func (p *Provider) each(call func(i int, member provider.Provider) error) []error {
	errs := make([]error, len(p.members))
	var group sync.WaitGroup
	for i, member := range p.members {
		group.Go(func() { errs[i] = call(i, member) })
	}
	group.Wait()
	return errs
}

// withNames joins the errors of providers, and adds the provider to each.
func withNames(errs []error) error {
	var list []error
	for i, err := range errs {
		if err != nil {
			list = append(list, fmt.Errorf("provider %d: %w", i+1, err))
		}
	}
	return errors.Join(list...)
}

// Zones implements [provider.Provider]. A zone of which a provider has several of the same name can't be used.
func (p *Provider) Zones(ctx context.Context) ([]dns.Zone, error) {
	lists := make([][]dns.Zone, len(p.members))
	err := withNames(p.each(func(i int, member provider.Provider) (err error) {
		lists[i], err = member.Zones(ctx)
		return err
	}))
	if err != nil {
		return nil, err
	}
	found, unusable := p.common(lists)
	if len(found) == 0 && len(unusable) > 0 {
		return nil, unusable.err()
	}
	versions := make([]string, len(found))
	for i, z := range found {
		versions[i] = z.takeVersions()
	}
	return p.adopt(found, versions, unusable), nil
}

// takeVersions removes the versions of the parts, and returns all of them together, or "" if none
// has one.
func (z *zone) takeVersions() string {
	var all []string
	for i, part := range z.parts {
		all = append(all, part.Version)
		z.parts[i].Version = ""
	}
	if strings.Join(all, "") == "" {
		return ""
	}
	return strings.Join(all, " ")
}

// adopt replaces the zones, and keeps the state of those that consist of the same zones as before.
// versions has the version of each. The versions of a zone's parts don't matter for its state: they
// change with every record, also with one that only some providers have.
func (p *Provider) adopt(found []*zone, versions []string, unusable twins) []dns.Zone {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.zones
	p.zones, p.twins = map[string]*zone{}, unusable
	list := make([]dns.Zone, len(found))
	for i, z := range found {
		if same := before[z.Name]; same != nil && slices.Equal(same.parts, z.parts) {
			z = same
		}
		p.zones[z.Name] = z
		list[i] = z.Zone
		list[i].Version = versions[i]
	}
	return list
}

// common returns the zones that are in all lists, sorted by name, and those that can't be used.
func (p *Provider) common(lists [][]dns.Zone) ([]*zone, twins) {
	p.mu.Lock()
	before := p.zones
	p.mu.Unlock()
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
	unusable := twins{}
	for name := range names {
		z := &zone{
			Zone: dns.Zone{ID: name, Name: name, Private: true}, unfinished: map[dns.Key]bool{},
			has: make([]map[dns.Key]*dns.RecordSet, len(lists)),
		}
		var several error
		for i, finder := range finders {
			part, err := one(finder.FindAll(name), before[name], i)
			several = cmp.Or(several, err)
			if part != nil {
				z.parts = append(z.parts, *part)
				z.Private = z.Private && part.Private
			}
		}
		switch {
		case len(z.parts) < len(lists):
		case several != nil:
			unusable[name] = several
		default:
			found = append(found, z)
		}
	}
	slices.SortFunc(found, func(a, b *zone) int { return strings.Compare(a.Name, b.Name) })
	return found, unusable
}

// Adjust implements [provider.Adjuster]. The record sets go through all providers twice, so that
// each sees the results of the others. A record set that one provider refuses is refused.
func (p *Provider) Adjust(ctx context.Context, dnsZone dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	parts := slices.Repeat([]dns.Zone{dnsZone}, len(p.members))
	if z, err := p.find(dnsZone.Name); err == nil {
		parts = z.parts
	}
	list := make([]provider.Adjusted, len(wanted))
	for i, r := range wanted {
		list[i].Sets = []*dns.RecordSet{r}
	}
	for range 2 {
		for i, member := range p.members {
			if adjuster, ok := member.(provider.Adjuster); ok {
				if err := adjustBy(ctx, adjuster, parts[i], list); err != nil {
					return nil, fmt.Errorf("provider %d: %w", i+1, err)
				}
			}
		}
	}
	return list, nil
}

// adjustBy replaces record sets by what one provider makes of them.
func adjustBy(ctx context.Context, adjuster provider.Adjuster, zone dns.Zone, list []provider.Adjusted) error {
	var sets []*dns.RecordSet
	var places []int
	for i, one := range list {
		for _, r := range one.Sets {
			sets, places = append(sets, r), append(places, i)
		}
	}
	results, err := adjuster.Adjust(ctx, zone, sets)
	if err != nil {
		return err
	}
	if len(results) != len(sets) {
		return fmt.Errorf("adjust: %d results for %d record sets", len(results), len(sets))
	}
	next := make([]provider.Adjusted, len(list))
	for i, one := range list {
		next[i].Err, next[i].Recheck = one.Err, one.Recheck
	}
	for n, result := range results {
		one := &next[places[n]]
		one.Err, one.Recheck = errors.Join(one.Err, result.Err), one.Recheck || result.Recheck
		one.Sets = append(one.Sets, result.Sets...)
	}
	for i := range next {
		if next[i].Err != nil {
			next[i].Sets = nil
		}
	}
	copy(list, next)
	return nil
}

// Capabilities implements [provider.Provider]: what all providers support, with the strictest
// limits. Properties are those of any, because each ignores those of the others.
func (p *Provider) Capabilities() provider.Capabilities {
	all := p.members[0].Capabilities()
	for _, member := range p.members[1:] {
		c := member.Capabilities()
		all.SetIdentifiers = all.SetIdentifiers && c.SetIdentifiers
		all.Conditional = all.Conditional && c.Conditional
		all.Stepwise = all.Stepwise || c.Stepwise
		all.ByTarget = all.ByTarget || c.ByTarget
		all.Blind = all.Blind || c.Blind
		all.Types = commonTypes(all.Types, c.Types)
		all.NameCharacters = strings.Map(func(r rune) rune {
			if strings.ContainsRune(c.NameCharacters, r) {
				return r
			}
			return -1
		}, all.NameCharacters)
		all.Properties = slices.Concat(all.Properties, c.Properties)
		all.OneName = slices.Concat(all.OneName, c.OneName)
		all.BatchSize = provider.Stricter(all.BatchSize, c.BatchSize)
		all.BatchInterval = max(all.BatchInterval, c.BatchInterval)
		all.BatchTime = max(all.BatchTime, c.BatchTime)
		// Zero is the shortest time.
		all.ListingTime = min(all.ListingTime, c.ListingTime)
		all.Calls = provider.Stricter(all.Calls, c.Calls)
		all.CallsPerSecond = provider.Stricter(all.CallsPerSecond, c.CallsPerSecond)
	}
	return all
}

// commonTypes returns the types in both lists; nil means all.
func commonTypes(a, b []string) []string {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return slices.DeleteFunc(slices.Clone(a), func(t string) bool { return !slices.Contains(b, t) })
}

// Unlisted implements [provider.PartialLister].
func (p *Provider) Unlisted() error {
	errs := make([]error, len(p.members))
	for i, member := range p.members {
		if lister, ok := member.(provider.PartialLister); ok {
			errs[i] = lister.Unlisted()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(withNames(errs), p.twins.err())
}

// DomainFilter implements [provider.DomainFilterer]. A name must be selected by all providers.
func (p *Provider) DomainFilter(ctx context.Context) dns.Filter {
	var all []dns.Filter
	for _, member := range p.members {
		if f, ok := member.(provider.DomainFilterer); ok {
			all = append(all, f.DomainFilter(ctx))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.twins.filter(p.zones); f != nil {
		all = append(all, f)
	}
	return dns.MatchAll(all...)
}

// Confirm implements [provider.Confirmer]. It returns when the servers of all providers return what
// was made.
func (p *Provider) Confirm(ctx context.Context, dnsZone dns.Zone) error {
	z, err := p.find(dnsZone.Name)
	if err != nil {
		return err
	}
	return withNames(p.each(func(i int, member provider.Provider) error {
		if c, ok := member.(provider.Confirmer); ok {
			return c.Confirm(ctx, z.parts[i])
		}
		return nil
	}))
}

// Probe implements [provider.Prober]. The zone is listed if all providers list it. If one doesn't, the
// providers without Probe list it here, because nothing else contacts their servers then.
func (p *Provider) Probe(ctx context.Context, dnsZone dns.Zone) (lists bool, err error) {
	z, err := p.find(dnsZone.Name)
	if err != nil {
		return false, err
	}
	unlisted := make([]bool, len(p.members))
	err = withNames(p.each(func(i int, member provider.Provider) error {
		prober, ok := member.(provider.Prober)
		if !ok {
			return nil
		}
		lists, err := prober.Probe(ctx, z.parts[i])
		unlisted[i] = !lists
		return err
	}))
	if err != nil || !slices.Contains(unlisted, true) {
		return err == nil, err
	}
	return false, withNames(p.each(func(i int, member provider.Provider) error {
		if unlisted[i] {
			return nil
		}
		_, err := member.Records(ctx, z.parts[i])
		return err
	}))
}

// NameServers implements [provider.NameServerLister]. If a provider doesn't know its servers, there are none.
func (p *Provider) NameServers() []string {
	var all []string
	for _, member := range p.members {
		known, ok := member.(provider.NameServerLister)
		if !ok {
			return nil
		}
		servers := known.NameServers()
		if len(servers) == 0 {
			return nil
		}
		all = append(all, servers...)
	}
	slices.Sort(all)
	return slices.Compact(all)
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
