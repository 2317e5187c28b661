package configure

import (
	"context"
	"fmt"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/provider"
)

// Survey is the state of a publisher's zones before it changes anything.
type Survey struct {
	// Zones are the zones that were read. More is the number of others.
	Zones []ZoneSurvey
	More  int
	// Missing are the filters that match no zone of the provider, such as
	// "--domain-filter=example.net".
	Missing []string
	// OwnerID is the owner of the publisher. It is empty without ownership.
	OwnerID string
	// OwnersErr says why ownership is unknown. There are then no owners.
	OwnersErr error
}

// ZoneSurvey is the content of one zone.
type ZoneSurvey struct {
	dns.Zone
	// Err says why the zone can't be read.
	Err error
	// Read is false if the provider can't list the zone's records, as without --rfc2136-axfr.
	Read bool
	// Records is the number of record sets without ownership records. Owners is the number for each
	// owner.
	Records int
	Owners  map[string]int
	// Instances is the number of our owner's record sets by instance, without those that have none.
	Instances map[string]int
	// ApexOwnershipRecord is the name of the ownership record of an address record at the apex, if
	// that name is outside of the zone, so that the record would be refused. Otherwise it is empty.
	ApexOwnershipRecord string
}

// Survey lists the zones of the provider, and reads at most the given number of them. It changes
// nothing. The error says why no zone can be read.
func (o *Options) Survey(ctx context.Context, in Input, maxZones int) (Survey, error) {
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
	own, err := dry.openOwner(ctx, in, p.Capabilities())
	if err == nil {
		err = own.Load(ctx)
	}
	if err != nil {
		s.OwnersErr, own = err, owner.None{}
	}
	s.OwnerID = own.ID()
	if len(zones) > maxZones {
		s.More, zones = len(zones)-maxZones, zones[:maxZones]
	}
	for _, z := range zones {
		s.Zones = append(s.Zones, surveyZone(ctx, p, own, z))
	}
	return s, nil
}

func surveyZone(ctx context.Context, p provider.Provider, own owner.Owner, z dns.Zone) ZoneSurvey {
	found := ZoneSurvey{Zone: z, Read: true, Owners: map[string]int{}, Instances: map[string]int{}}
	if txt, ok := own.(*owner.TXT); ok && z.Name != "" {
		if ownership := txt.OwnershipRecordName(z.Name, dns.TypeA); ownership != "" && !within(ownership, z.Name) {
			found.ApexOwnershipRecord = ownership
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
		if _, isOwnership := own.OwnershipRecord(r); isOwnership {
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

// filtersWithoutZone returns the filters that match no zone. A filter matches the zone that
// contains its domain, and zones below it.
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
