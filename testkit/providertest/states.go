package providertest

import (
	"fmt"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// record is a record set of a state.
type record struct {
	// name is relative to the zone; "@" is its apex.
	name       string
	recordType string
	targets    []string
	ttl        int64
	// seen is what clients see, if that differs from the targets.
	seen []string
	// describes, for an ownership record, is the name of the record set that it describes.
	describes string
	// wire is the name that clients query, if that differs from name.
	wire string
}

// scenario is a list of states that a zone takes one after the other. It ends with an empty zone.
type scenario struct {
	name string
	// needs are the record types that the provider must support.
	needs  []string
	states [][]record
	// reverse is true for a scenario in the zone for PTR records.
	reverse bool
}

var (
	longLabel = strings.Repeat("l", 63)
	longText  = strings.Repeat("0123456789", 60)
)

func address(name string, targets ...string) record {
	return record{name: name, recordType: dns.TypeA, targets: targets, ttl: 300}
}

func address6(name string, targets ...string) record {
	return record{name: name, recordType: dns.TypeAAAA, targets: targets, ttl: 300}
}

func alias(name, target string) record {
	return record{name: name, recordType: dns.TypeCNAME, targets: []string{target}, ttl: 300, seen: []string{target + "."}}
}

// text returns a TXT record. The targets are quoted; clients see them unquoted.
func text(name string, targets ...string) record {
	r := record{name: name, recordType: dns.TypeTXT, targets: targets, ttl: 300}
	for _, t := range targets {
		seen, err := dns.UnescapeString(t[1 : len(t)-1])
		if err != nil {
			panic(err) // The targets are constants of this package.
		}
		r.seen = append(r.seen, seen)
	}
	return r
}

func (r record) withTTL(seconds int64) record {
	r.ttl = seconds
	return r
}

func (r record) withSeen(values ...string) record {
	r.seen = values
	return r
}

func (r record) of(name string) record {
	r.describes = name
	return r
}

func (r record) fullName(zone string) string {
	return qualify(r.name, zone)
}

func qualify(name, zone string) string {
	if name == "@" {
		return zone
	}
	return name + "." + zone
}

// recordSet returns the wanted record set.
func (r record) recordSet(zone string) *dns.RecordSet {
	set := &dns.RecordSet{
		Name: r.fullName(zone), Type: r.recordType, Targets: r.targets, TTL: r.ttl, Labels: map[string]string{},
	}
	if r.describes != "" {
		set.Labels[dns.LabelOwnedRecord] = qualify(r.describes, zone)
	}
	return set
}

func (r record) lookup(z *zone) {
	name := r.fullName(z.name)
	if r.wire != "" {
		name = r.wire + "." + z.name
	}
	want := Answer{Values: r.seen, TTL: r.ttl}
	if r.seen == nil {
		want.Values = r.targets
	}
	z.seen(name, r.recordType, want)
}

func (r record) lookupGone(z *zone) {
	name := r.fullName(z.name)
	if r.wire != "" {
		name = r.wire + "." + z.name
	}
	z.seen(name, r.recordType, Answer{})
}

// run makes the zone take the states.
func (s scenario) run(z *zone) {
	z.t.Helper()
	last := map[string]record{}
	for _, state := range append(s.states, nil) {
		var wanted []*dns.RecordSet
		now := map[string]record{}
		for _, r := range state {
			wanted = append(wanted, r.recordSet(z.name))
			now[dns.Canonical(r.name)+" "+r.recordType] = r
		}
		z.become(wanted)
		for id, r := range last {
			if _, stays := now[id]; !stays {
				r.lookupGone(z)
			}
		}
		for _, r := range now {
			r.lookup(z)
		}
		last = now
	}
}

// crowd returns more names than most providers can change with one request.
func crowd(third int) []record {
	var state []record
	for i := range 130 {
		name := fmt.Sprintf("crowd%d", i)
		state = append(state,
			address(name, fmt.Sprintf("192.0.%d.%d", third, i)),
			text("a-"+name, fmt.Sprintf(`"heritage=external-dns,external-dns/owner=kit%d"`, third)).of(name))
	}
	return state
}
