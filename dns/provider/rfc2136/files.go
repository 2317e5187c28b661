package rfc2136

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// Files has the zones of master files (RFC 1035 5), such as stored zone transfers. It lists them
// like [Provider], and refuses changes.
type Files struct {
	sets map[string][]*dns.RecordSet // by the canonical name of the zone
}

var (
	_ provider.Provider = (*Files)(nil)
	_ provider.Adjuster = (*Files)(nil)
)

// OpenFiles reads master files, one for each zone. The name of the zone is that of its SOA record,
// without which a file is no zone (RFC 1035, 5.2). Names that are relative before the first $ORIGIN
// are relative to the name of the file: example.org, example.org.zone or db.example.org. Types that
// Provider doesn't list are ignored.
func OpenFiles(paths []string) (*Files, error) {
	zones := Provider{zones: map[string]*zone{}}
	read := map[*zone][]mdns.RR{}
	for _, path := range paths {
		name, rrs, err := readFile(path)
		if err != nil {
			return nil, fmt.Errorf("read zone file %s: %w", path, err)
		}
		canonical := dns.Canonical(name)
		if zones.zones[canonical] != nil {
			return nil, fmt.Errorf("read zone file %s: another file has the zone %q too: leave one out", path, canonical)
		}
		z := &zone{Zone: dns.Zone{ID: canonical, Name: canonical}}
		zones.zones[canonical], read[z] = z, rrs
	}
	f := &Files{sets: map[string][]*dns.RecordSet{}}
	for z, rrs := range read {
		c := collector{zone: z, closest: zones.closest, byKey: map[dns.Key]*dns.RecordSet{}}
		for _, rr := range rrs {
			if err := c.add(rr); err != nil {
				return nil, fmt.Errorf("read zone %s: %w", z.Name, err)
			}
		}
		for _, r := range c.sets {
			r.Targets = dns.UniqueSorted(r.Targets)
		}
		f.sets[z.Name] = c.sets
	}
	return f, nil
}

// readFile returns the name of a zone and its records.
func readFile(path string) (name string, rrs []mdns.RR, err error) {
	if path == "" {
		return "", nil, errors.New("the path is empty: name a file")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", nil, errors.Unwrap(err) // without the path, which the message has
	}
	name = mdns.Fqdn(cmp.Or(firstOrigin(strings.NewReader(string(text))), zoneOfFile(path)))
	if _, ok := mdns.IsDomainName(name); !ok {
		return "", nil, fmt.Errorf("%q is not a domain name: name the zone with $ORIGIN", name)
	}
	p := mdns.NewZoneParser(strings.NewReader(string(text)), name, filepath.Base(path))
	// The default only matters for a TTL that is relative to a missing one.
	p.SetDefaultTTL(3600)
	apex := ""
	for rr, ok := p.Next(); ok; rr, ok = p.Next() {
		if rr.Header().Rrtype != mdns.TypeSOA {
			rrs = append(rrs, rr)
			continue
		}
		if apex != "" && !strings.EqualFold(apex, rr.Header().Name) {
			return "", nil, fmt.Errorf("it has SOA records of %s and of %s: use one file for each zone", apex, rr.Header().Name)
		}
		apex = rr.Header().Name
	}
	if err := p.Err(); err != nil {
		return "", nil, fmt.Errorf("no master file (RFC 1035): %w", err)
	}
	if apex == "" {
		return "", nil, errors.New("it has no SOA record, so it is no zone: store the whole zone, as with dig ZONE AXFR, or add the SOA record after $ORIGIN")
	}
	name = apex
	for _, rr := range rrs {
		if !mdns.IsSubDomain(name, rr.Header().Name) {
			return "", nil, fmt.Errorf("%s is not in the zone %s: name the zone with $ORIGIN", rr.Header().Name, name)
		}
	}
	return name, rrs, nil
}

// firstOrigin returns the name of the first $ORIGIN, or "".
func firstOrigin(text io.Reader) string {
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && strings.EqualFold(fields[0], "$ORIGIN") {
			return fields[1]
		}
	}
	return ""
}

// zoneOfFile returns the zone that a file is named after.
func zoneOfFile(path string) string {
	name := filepath.Base(path)
	for _, suffix := range []string{".zone", ".db", ".txt"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return strings.TrimPrefix(name, "db.")
}

// Keep removes the zones whose names have none of the suffixes of --zone-name-filter or
// --zone-id-filter, if there are any.
func (f *Files) Keep(endings []string) {
	for name := range f.sets {
		if !dns.ZoneNameEndsWith(name, endings) {
			delete(f.sets, name)
		}
	}
}

// Zones implements [provider.Provider].
func (f *Files) Zones(context.Context) ([]dns.Zone, error) {
	var zones []dns.Zone
	for name := range f.sets {
		zones = append(zones, dns.Zone{ID: name, Name: name})
	}
	slices.SortFunc(zones, func(a, b dns.Zone) int { return cmp.Compare(a.Name, b.Name) })
	return zones, nil
}

// Records implements [provider.Provider].
func (f *Files) Records(_ context.Context, z dns.Zone) ([]*dns.RecordSet, error) {
	sets, ok := f.sets[z.Name]
	if !ok {
		return nil, fmt.Errorf("list zone %s: there is no file for it", z.Name)
	}
	list := make([]*dns.RecordSet, len(sets))
	for i, r := range sets {
		list[i] = r.Clone()
	}
	return list, nil
}

// Capabilities implements [provider.Provider]. They are those of [Provider].
func (f *Files) Capabilities() provider.Capabilities { return (&Provider{}).Capabilities() }

// Adjust implements [provider.Adjuster], like [Provider.Adjust] without a minimum TTL.
func (f *Files) Adjust(ctx context.Context, zone dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	return (&Provider{}).Adjust(ctx, zone, wanted)
}

// Apply implements [provider.Provider]. It always fails with [provider.ErrDryRun].
func (f *Files) Apply(_ context.Context, z dns.Zone, _ []dns.Change) error {
	return fmt.Errorf("change zone %s: %w", z.Name, provider.ErrDryRun)
}
