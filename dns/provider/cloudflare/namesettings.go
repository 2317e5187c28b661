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

// nameChange is a change of the settings of a name that aren't records: its custom hostnames, whose origin
// the name is, and its region. These have no owner, so they are only changed together with a record set of
// ours.
type nameChange struct {
	name string
	// removed and added are custom hostnames.
	removed, added []string
	// region is the new region. regionRemoved is true if the old one is removed, and regionChanges if it is
	// replaced.
	region                       string
	regionRemoved, regionChanges bool
}

// hasSettings reports whether a change asks for a custom hostname or a region.
func hasSettings(c dns.Change) bool {
	if c.New == nil {
		return false
	}
	_, hostname := c.New.Property(propertyHostname)
	_, region := c.New.Property(propertyRegion)
	return hostname || region
}

// settingsOf returns the change of a name's settings.
func settingsOf(w recordOptions, name string, changes []dns.Change, now groups) (nameChange, error) {
	s := nameChange{name: name}
	if w.hostnames {
		var before, after []string
		for _, c := range changes {
			if recordType := c.RecordSet().Type; recordType == dns.TypeA || recordType == dns.TypeCNAME {
				before, after = append(before, hostnamesOf(c.Old)...), append(after, hostnamesOf(c.New)...)
			}
		}
		s.removed, s.added = difference(before, after), difference(after, before)
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
	s.regionRemoved = after == "" && before != "" && (!first || !kept)
	return s, nil
}

// difference returns the members of a that b lacks, each once.
func difference(a, b []string) []string {
	list := slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
	slices.Sort(list)
	return slices.Compact(list)
}

// deleteSettings removes settings, before the records are deleted.
func (p *cloudflareProvider) deleteSettings(ctx context.Context, z *managedZone, s nameChange) error {
	if len(s.removed) > 0 {
		there, err := p.api.customHostnames(ctx, z.Zone, s.name)
		if err != nil {
			return fmt.Errorf("list the custom hostnames of %s: %w", s.name, err)
		}
		for _, h := range there {
			if dns.Canonical(h.Origin) != s.name || !slices.Contains(s.removed, dns.Canonical(h.Hostname)) {
				continue
			}
			if err := p.api.deleteHostname(ctx, z.ID, h.ID); err != nil {
				return fmt.Errorf("delete the custom hostname %s of %s: %w", dns.Canonical(h.Hostname), s.name, err)
			}
		}
	}
	if s.regionRemoved {
		if err := p.api.deleteRegion(ctx, z.ID, s.name); err != nil {
			return fmt.Errorf("take away the region of %s: %w", s.name, err)
		}
	}
	return nil
}

// createSettings creates settings, after the records.
func (p *cloudflareProvider) createSettings(ctx context.Context, z *managedZone, s nameChange) error {
	if err := z.mayCreate(s); err != nil {
		return err
	}
	for _, name := range s.added {
		if err := p.ensureHostname(ctx, z, s.name, name); err != nil {
			return fmt.Errorf("create the custom hostname %s of %s: %w", name, s.name, err)
		}
	}
	if s.region == "" {
		return nil
	}
	if err := p.setRegion(ctx, z, s); err != nil {
		return fmt.Errorf("give %s the region %q: %w", s.name, s.region, err)
	}
	return nil
}

// setRegion sets the region of a name. It replaces the listed one, or one that was set since.
func (p *cloudflareProvider) setRegion(ctx context.Context, z *managedZone, s nameChange) error {
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

func (p *cloudflareProvider) ensureHostname(ctx context.Context, z *managedZone, origin, name string) error {
	h := hostname{Hostname: name, Origin: origin, SSL: &ssl{
		Type: "dv", Method: "http", BundleMethod: "ubiquitous", Settings: sslSettings{MinTLS: p.recordOptions.minTLS},
	}}
	if p.recordOptions.authority != defaultAuthority {
		h.SSL.Authority = p.recordOptions.authority
	}
	err := p.api.createHostname(ctx, z.ID, h)
	if err == nil || ctx.Err() != nil {
		return err
	}
	// If it exists, the response was lost or another writer was faster.
	there, verifyErr := p.api.customHostnames(ctx, z.Zone, origin)
	if verifyErr == nil && slices.ContainsFunc(there, func(t hostname) bool {
		return dns.Canonical(t.Hostname) == name && dns.Canonical(t.Origin) == origin
	}) {
		return nil
	}
	return err
}

// nameSettings are the settings of the names of a zone.
type nameSettings struct {
	// hostnames are by origin, and regions by name.
	hostnames map[string][]string
	regions   map[string]string
}

// nameSettings lists the managed settings of the names of a zone.
func (p *cloudflareProvider) nameSettings(ctx context.Context, z *managedZone) (nameSettings, error) {
	s := nameSettings{hostnames: map[string][]string{}, regions: map[string]string{}}
	if p.recordOptions.hostnames {
		list, err := p.api.customHostnames(ctx, z.Zone, "")
		if err != nil {
			err = fmt.Errorf("list the custom hostnames: %w", err)
		}
		if err = p.noteDenied(z, &z.denied.hostnames, err); err != nil {
			return s, err
		}
		for _, h := range list {
			origin := dns.Canonical(h.Origin)
			s.hostnames[origin] = append(s.hostnames[origin], dns.Canonical(h.Hostname))
		}
	}
	if p.recordOptions.regional {
		list, err := p.api.regions(ctx, z.Zone)
		if err != nil {
			err = fmt.Errorf("list the regions of names: %w", err)
		}
		if err = p.noteDenied(z, &z.denied.regions, err); err != nil {
			return s, err
		}
		for _, r := range list {
			s.regions[dns.Canonical(r.Hostname)] = r.Key
		}
	}
	return s, nil
}

// denied has the errors of listings for which the credentials lack a permission.
type denied struct{ hostnames, regions error }

// noteDenied notes the outcome of a listing. A missing permission is no failure of the zone: its records are
// published, and only the names that ask for such settings wait.
func (p *cloudflareProvider) noteDenied(z *managedZone, listed *error, err error) error {
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

// mayCreate returns an error if settings can't be created because the credentials lack a permission.
func (z *managedZone) mayCreate(s nameChange) error {
	z.mu.Lock()
	defer z.mu.Unlock()
	switch {
	case len(s.added) > 0 && z.denied.hostnames != nil:
		return fmt.Errorf("create the custom hostnames of %s: %w", s.name, z.denied.hostnames)
	case s.region != "" && z.denied.regions != nil:
		return fmt.Errorf("give %s the region %q: %w", s.name, s.region, z.denied.regions)
	}
	return nil
}

// add adds the settings of names to record sets, as properties.
func (s nameSettings) add(sets []*dns.RecordSet) []*dns.RecordSet {
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
