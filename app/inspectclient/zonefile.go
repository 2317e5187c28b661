package inspectclient

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/output"
)

// ZoneFile returns the records of zones in master file format (RFC 1035, section 5), one zone after
// the other. A record that can't be written, or not be read back, is a comment. The filter is that of
// the records.
func ZoneFile(records []inspect.Record, filter RecordFilter) string {
	var text strings.Builder
	zone := ""
	for _, r := range inZones(records) {
		if head := zoneHead(r); head != zone {
			zone = head
			text.WriteString(head)
		}
		for _, target := range r.Targets {
			text.WriteString(zoneLine(r, target))
		}
		if r.Truncated {
			text.WriteString(comment("%s %s has more targets, which are left out", r.Name, r.Type))
		}
	}
	if text.Len() == 0 {
		return comment("%s", strings.TrimSpace(emptyText("no record is published", filter.given()...)))
	}
	return text.String()
}

// OneZone returns an error unless all published records are in one zone, because a name server
// would read the records of several zones as one.
func OneZone(records []inspect.Record) error {
	type zone struct{ process, publisher, name, id string }
	var zones []string
	seen := map[zone]bool{}
	publishers := map[string]bool{}
	for _, r := range inZones(records) {
		z := zone{r.Process, r.Publisher, r.Zone, r.ZoneID}
		if !seen[z] {
			zones = append(zones, output.Clean(cmp.Or(r.Zone, "."))+ofPublisher(r.Publisher))
			publishers[r.Publisher] = true
		}
		seen[z] = true
	}
	const most = 5
	switch n := len(zones); {
	case n < 2:
		return nil
	case n > most:
		zones = append(zones[:most], fmt.Sprintf("%d more", n-most))
	}
	advice := "name the zone"
	if len(publishers) > 1 {
		advice = "name the zone, and its publisher with --publisher"
	}
	return fmt.Errorf("a master file has one zone, and these records are in %d: %s: %s", len(seen), strings.Join(zones, ", "), advice)
}

// inZones returns the published records, grouped by zone.
func inZones(records []inspect.Record) []inspect.Record {
	found := slices.DeleteFunc(slices.Clone(records), func(r inspect.Record) bool { return len(r.Targets) == 0 })
	slices.SortStableFunc(found, func(a, b inspect.Record) int {
		return cmp.Or(strings.Compare(a.Zone, b.Zone), strings.Compare(a.Publisher, b.Publisher), strings.Compare(a.ZoneID, b.ZoneID))
	})
	return found
}

func zoneHead(r inspect.Record) string {
	var of string
	if r.Publisher != "" {
		of = " of the publisher " + r.Publisher
	}
	return comment("the zone %s%s, without the records that signpost doesn't look at", cmp.Or(r.Zone, "."), of)
}

func comment(format string, args ...any) string {
	return "; " + output.Clean(fmt.Sprintf(format, args...)) + "\n"
}

// zoneLine returns the line of a record. Targets are untrusted, so a target that can't be read back
// becomes a comment.
func zoneLine(r inspect.Record, target string) string {
	line := fmt.Sprintf("%s\t%d\tIN\t%s\t%s", dns.Fqdn(r.Name), max(r.TTL, 0), r.Type, target)
	if r.SetIdentifier != "" {
		return comment("%s ; set %s", strings.ReplaceAll(line, "\t", " "), r.SetIdentifier)
	}
	parsed, err := dns.NewRR(line)
	if err != nil || parsed == nil || strings.ContainsAny(line, "\n\r$") || parsed.Header().Name == "" {
		return comment("not in the form of master files: %s", line)
	}
	return parsed.String() + "\n"
}
