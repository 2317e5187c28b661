package configure

import (
	"context"
	"fmt"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/provider"
)

// Survey is what a publisher finds at its provider before it changes anything.
type Survey struct {
	// Zones are those that were read, and More is how many others there are.
	Zones []ZoneSurvey
	More  int
	// Missing are the filters that no zone of the provider fits, such as
	// "--domain-filter=example.net".
	Missing []string
	// OwnerID is the owner of the publisher. It is empty without ownership.
	OwnerID string
	// OwnersErr says why it isn't known who owns what. Then there are no owners.
	OwnersErr error
}

// ZoneSurvey is what is in one zone.
type ZoneSurvey struct {
	dns.Zone
	// Err says why the zone can't be read.
	Err error
	// Read is false if the provider was asked about the zone, but doesn't say what is in it, as
	// without --rfc2136-axfr.
	Read bool
	// Records is the number of record sets other than markers, and Owners how many of them each
	// owner has.
	Records int
	Owners  map[string]int
	// Instances is how many record sets of our owner each instance has written. It has none of records
	// that don't say.
	Instances map[string]int
	// ApexMarker is the name of the marker that an address record at the apex would have, if it is
	// outside of the zone, so that the record would be refused. Otherwise it is empty.
	ApexMarker string
}

// Survey asks the provider for its zones, and reads at most so many of them. It changes nothing. The
// error says why there are no zones to read; it is a provider's own, or one of a setting.
func (o *Options) Survey(ctx context.Context, in Input, most int) (Survey, error) {
	dry := *o
	dry.DryRun = true
	p, err := dry.OpenProvider(ctx, in)
	if err != nil {
		return Survey{}, err
	}
	zones, err := p.Zones(ctx)
	if err != nil {
		return Survey{}, fmt.Errorf("list the zones: %w", err)
	}
	s := Survey{Missing: o.filtersWithoutZone(zones)}
	own, err := dry.openOwner(ctx, in)
	if err == nil {
		err = own.Load(ctx)
	}
	if err != nil {
		s.OwnersErr, own = err, owner.None{}
	}
	s.OwnerID = own.ID()
	if len(zones) > most {
		s.More, zones = len(zones)-most, zones[:most]
	}
	for _, z := range zones {
		s.Zones = append(s.Zones, surveyZone(ctx, p, own, z))
	}
	return s, nil
}

func surveyZone(ctx context.Context, p provider.Provider, own owner.Owner, z dns.Zone) ZoneSurvey {
	found := ZoneSurvey{Zone: z, Read: true, Owners: map[string]int{}, Instances: map[string]int{}}
	if txt, ok := own.(*owner.TXT); ok && z.Name != "" {
		if marker := txt.MarkerName(z.Name, dns.TypeA); marker != "" && !within(marker, z.Name) {
			found.ApexMarker = marker
		}
	}
	if prober, ok := p.(provider.Prober); ok {
		if found.Read, found.Err = prober.Probe(ctx, z); found.Err != nil || !found.Read {
			return found
		}
	}
	records, err := p.Records(ctx, z)
	if err != nil {
		found.Err = err
		return found
	}
	byName := map[string][]*dns.RecordSet{}
	for _, r := range records {
		name := dns.Canonical(r.Name)
		byName[name] = append(byName[name], r)
	}
	lookup := func(name string) []*dns.RecordSet { return byName[name] }
	for _, r := range records {
		if _, marker := own.Mark(r); marker {
			continue
		}
		found.Records++
		labels, _ := own.Labels(lookup, r)
		if id := labels[dns.LabelOwner]; id != "" {
			found.Owners[id]++
		}
		if instance := labels[dns.LabelInstance]; instance != "" && labels[dns.LabelOwner] == own.ID() {
			found.Instances[instance]++
		}
	}
	return found
}

// filtersWithoutZone returns the filters for which there is no zone. A domain may be a part of a zone,
// or have zones below it.
func (o *Options) filtersWithoutZone(zones []dns.Zone) []string {
	if len(zones) == 1 && zones[0].Name == "" {
		return nil // the provider has no zones, or the root
	}
	domains := o.DomainFilter
	if o.filtersByRegex() {
		domains = nil
	}
	var missing []string
	for flag, values := range map[string][]string{"domain-filter": domains, "zone-name-filter": o.ZoneNames} {
		for _, v := range values {
			if v != "" && !slices.ContainsFunc(zones, func(z dns.Zone) bool { return within(z.Name, v) || within(v, z.Name) }) {
				missing = append(missing, "--"+flag+"="+v)
			}
		}
	}
	slices.Sort(missing)
	return missing
}
