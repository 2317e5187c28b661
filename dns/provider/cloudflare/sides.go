package cloudflare

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// side is what changes that belongs to a name and isn't a record: custom hostnames, whose
// origin the name is, and its region. Neither has an owner, so that of a name is only changed with
// a record set of ours.
type side struct {
	name string
	// gone are the custom hostnames that go, and come those that come.
	gone, come []string
	// region is the region that the name gets; regionGone is true if it loses the one that it has, and
	// regionChanges if it gets another one.
	region                    string
	regionGone, regionChanges bool
}

// belongs reports whether a change asks for something that belongs to the name.
func belongs(c dns.Change) bool {
	if c.New == nil {
		return false
	}
	_, hostname := c.New.Property(propertyHostname)
	_, region := c.New.Property(propertyRegion)
	return hostname || region
}

// sideOf works out what changes that belongs to a name.
func sideOf(w wishes, name string, changes []dns.Change, now groups) (side, error) {
	s := side{name: name}
	if w.hostnames {
		var before, after []string
		for _, c := range changes {
			if kind := c.RecordSet().Type; kind == dns.TypeA || kind == dns.TypeCNAME {
				before, after = append(before, hostnamesOf(c.Old)...), append(after, hostnamesOf(c.New)...)
			}
		}
		s.gone, s.come = without(before, after), without(after, before)
	}
	if !w.regional {
		return s, nil
	}
	before, after, kept := "", "", false
	first := true
	changing := map[dns.Key]bool{}
	for _, c := range changes {
		if !proxiable(c.RecordSet().Type) {
			continue
		}
		changing[c.RecordSet().Key()] = true
		if c.Old != nil {
			if key, ok := c.Old.Property(propertyRegion); ok {
				before = key
			}
		}
		if c.New != nil {
			key, _ := c.New.Property(propertyRegion)
			if !first && key != after {
				return s, fmt.Errorf("%w: %s: its records ask for the regions %q and %q: a name has one region", provider.ErrRejected, name, after, key)
			}
			after, first = key, false
		}
	}
	for key := range now {
		// Another record set of the name keeps its region.
		kept = kept || key.Name == name && proxiable(key.Type) && !changing[key]
	}
	if after != before {
		s.region, s.regionChanges = after, before != ""
	}
	s.regionGone = after == "" && before != "" && (!first || !kept)
	return s, nil
}

// without returns the members of a that b lacks, each once.
func without(a, b []string) []string {
	list := slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
	slices.Sort(list)
	return slices.Compact(list)
}

// takeAway takes away what goes, before the records do.
func (p *cloudflareProvider) takeAway(ctx context.Context, z *managedZone, s side) error {
	if len(s.gone) > 0 {
		there, err := p.api.customHostnames(ctx, z.Zone, s.name)
		if err != nil {
			return fmt.Errorf("list the custom hostnames of %s: %w", s.name, err)
		}
		for _, h := range there {
			if dns.Canonical(h.Origin) != s.name || !slices.Contains(s.gone, dns.Canonical(h.Hostname)) {
				continue
			}
			if err := p.api.deleteHostname(ctx, z.ID, h.ID); err != nil {
				return fmt.Errorf("delete the custom hostname %s of %s: %w", dns.Canonical(h.Hostname), s.name, err)
			}
		}
	}
	if s.regionGone {
		if err := p.api.deleteRegion(ctx, z.ID, s.name); err != nil {
			return fmt.Errorf("take away the region of %s: %w", s.name, err)
		}
	}
	return nil
}

// give makes what comes, after the records.
func (p *cloudflareProvider) give(ctx context.Context, z *managedZone, s side) error {
	if err := z.mayGive(s); err != nil {
		return err
	}
	for _, name := range s.come {
		if err := p.giveHostname(ctx, z, s.name, name); err != nil {
			return fmt.Errorf("create the custom hostname %s of %s: %w", name, s.name, err)
		}
	}
	if s.region == "" {
		return nil
	}
	if err := p.giveRegion(ctx, z, s); err != nil {
		return fmt.Errorf("give %s the region %q: %w", s.name, s.region, err)
	}
	return nil
}

// giveRegion gives a name its region: in the place of the one that was listed, or of one that it has got
// since.
func (p *cloudflareProvider) giveRegion(ctx context.Context, z *managedZone, s side) error {
	wanted := region{Hostname: s.name, Key: s.region}
	if s.regionChanges {
		err := p.api.editRegion(ctx, z.ID, wanted)
		if e, ok := errors.AsType[*apiError](err); !ok || e.Status != http.StatusNotFound {
			return err
		}
	}
	err := p.api.createRegion(ctx, z.ID, wanted)
	if err == nil || !refused(err) {
		return err
	}
	there, verifyErr := p.api.regions(ctx, z.Zone)
	if verifyErr != nil || !slices.ContainsFunc(there, func(r region) bool { return dns.Canonical(r.Hostname) == s.name }) {
		return err
	}
	return p.api.editRegion(ctx, z.ID, wanted)
}

func (p *cloudflareProvider) giveHostname(ctx context.Context, z *managedZone, origin, name string) error {
	h := hostname{Hostname: name, Origin: origin, SSL: &ssl{
		Type: "dv", Method: "http", BundleMethod: "ubiquitous", Settings: sslSettings{MinTLS: p.wishes.minTLS},
	}}
	if p.wishes.authority != noAuthority {
		h.SSL.Authority = p.wishes.authority
	}
	err := p.api.createHostname(ctx, z.ID, h)
	if err == nil || ctx.Err() != nil {
		return err
	}
	// If it is there after all, the answer was lost, or somebody else was faster.
	there, verifyErr := p.api.customHostnames(ctx, z.Zone, origin)
	if verifyErr == nil && slices.ContainsFunc(there, func(t hostname) bool {
		return dns.Canonical(t.Hostname) == name && dns.Canonical(t.Origin) == origin
	}) {
		return nil
	}
	return err
}

// sides is what belongs to the names of a zone.
type sides struct {
	// hostnames are by their origins, and regions by their names.
	hostnames map[string][]string
	regions   map[string]string
}

// sides lists what belongs to the names of a zone, as far as it is managed.
func (p *cloudflareProvider) sides(ctx context.Context, z *managedZone) (sides, error) {
	s := sides{hostnames: map[string][]string{}, regions: map[string]string{}}
	if p.wishes.hostnames {
		list, err := p.api.customHostnames(ctx, z.Zone, "")
		if err != nil {
			err = fmt.Errorf("list the custom hostnames: %w", err)
		}
		if err = p.deny(z, &z.denied.hostnames, err); err != nil {
			return s, err
		}
		for _, h := range list {
			origin := dns.Canonical(h.Origin)
			s.hostnames[origin] = append(s.hostnames[origin], dns.Canonical(h.Hostname))
		}
	}
	if p.wishes.regional {
		list, err := p.api.regions(ctx, z.Zone)
		if err != nil {
			err = fmt.Errorf("list the regions of names: %w", err)
		}
		if err = p.deny(z, &z.denied.regions, err); err != nil {
			return s, err
		}
		for _, r := range list {
			s.regions[dns.Canonical(r.Hostname)] = r.Key
		}
	}
	return s, nil
}

// denied says why what belongs to names can't be listed, because the credentials lack the right; nil if it
// can.
type denied struct{ hostnames, regions error }

// deny notes the outcome of a listing. That the right is missing is no failure of the zone, whose records
// were listed with the same credentials: its records are published, and the names that ask for what can't be
// listed wait for that alone.
func (p *cloudflareProvider) deny(z *managedZone, listed *error, err error) error {
	if err != nil && !errors.Is(err, provider.ErrCredentials) {
		return err
	}
	z.mu.Lock()
	*listed = err
	z.mu.Unlock()
	if err != nil {
		p.warnOnce("denied "+z.ID+err.Error(), "Published the records of a zone without what belongs to their names", "zone", z.Name, "err", err)
	}
	return nil
}

// mayGive returns why what comes can't be made, because the credentials lack the right.
func (z *managedZone) mayGive(s side) error {
	z.mu.Lock()
	defer z.mu.Unlock()
	switch {
	case len(s.come) > 0 && z.denied.hostnames != nil:
		return fmt.Errorf("create the custom hostnames of %s: %w", s.name, z.denied.hostnames)
	case s.region != "" && z.denied.regions != nil:
		return fmt.Errorf("give %s the region %q: %w", s.name, s.region, z.denied.regions)
	}
	return nil
}

// add gives record sets the properties of their names.
func (s sides) add(sets []*dns.RecordSet) []*dns.RecordSet {
	for _, r := range sets {
		if r.Type == dns.TypeA || r.Type == dns.TypeCNAME {
			names := s.hostnames[r.Name]
			slices.Sort(names)
			add(r, propertyHostname, strings.Join(slices.Compact(names), ","))
		}
		if proxiable(r.Type) {
			add(r, propertyRegion, s.regions[r.Name])
		}
	}
	return sets
}
