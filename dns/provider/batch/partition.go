package batch

import (
	"fmt"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// Partition has the managed zones of a provider, and finds the zone of a name among all of its zones. It never
// changes. Providers that keep nothing else about a zone use it as the list of [Zones].
type Partition struct {
	Managed []dns.Zone
	all     *dns.ZoneFinder
	managed map[string]bool
}

// NewPartition returns the partition of all zones by a filter.
func NewPartition(all []dns.Zone, admits func(dns.Zone) bool) *Partition {
	p := &Partition{all: dns.NewZoneFinder(all), managed: map[string]bool{}}
	for _, zone := range all {
		if !p.managed[zone.ID] && admits(zone) {
			p.Managed = append(p.Managed, zone)
			p.managed[zone.ID] = true
		}
	}
	return p
}

// Match implements [dns.Filter]: the zone of a name has to be managed. Nil selects no name.
func (p *Partition) Match(name string) bool {
	if p == nil {
		return false
	}
	zone, ok := p.all.Find(name)
	return ok && p.managed[zone.ID]
}

// Outside returns an error if a name isn't in a zone, or is in a zone below it.
func (p *Partition) Outside(zone dns.Zone, name string) error {
	if found, ok := p.all.Find(name); !ok || found.ID != zone.ID {
		return fmt.Errorf("change %s in zone %s: %w: the zone of the name is %q", name, zone.Name, provider.ErrRejected, found.Name)
	}
	return nil
}
