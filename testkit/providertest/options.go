package providertest

import (
	"context"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// Options say what [Run] is to check.
type Options struct {
	// Open returns a provider for a zone of its own, which has no records but those that the
	// server itself puts there. It is called for each check. The input has everything that a
	// provider needs, and says whether this is a dry run.
	Open func(t *testing.T, in provider.Input) Fixture
	// Types are the types of record sets that the provider can handle; nil stands for A, AAAA,
	// CNAME and TXT. Checks that need other types are skipped.
	Types []string
	// Rejects returns record sets for a zone that the provider must refuse. A change that
	// creates one of them has to fail with an error that says what became of it. Nil stands
	// for some record sets that no DNS server can have. An empty list is for providers that
	// store anything.
	Rejects func(zone string) []*dns.RecordSet
	// Properties are the names of properties that the provider stores, with any text as their
	// value.
	Properties []string
	// Twins opens a provider with two zones of the name in the fixture. It is nil if the
	// provider can't have such zones.
	Twins func(t *testing.T, in provider.Input) Fixture
	// Without names checks that the provider can't pass, and says why.
	Without map[string]string
}

// Fixture is a provider with a zone that nobody else changes.
type Fixture struct {
	Provider provider.Provider
	// Zone is the name of the zone. If the provider has no zones, it is any name.
	Zone string
	// Reverse is the name of a zone for PTR records, below in-addr.arpa. It may be empty if
	// Types doesn't have PTR.
	Reverse string
	// Child is the name of a zone below Zone, with nothing about it in Zone. It may be empty.
	Child string
	// Lookup reads the zone without the provider. It is nil if that is impossible.
	Lookup Lookup
	// Reopen returns another provider for the same zone, as a new process would open it. It is
	// nil if the zone ends with the provider.
	Reopen func(t *testing.T) provider.Provider
}

// Lookup reads the records of one name and type as a client of the zone does. The answer is
// empty when there are none.
type Lookup func(ctx context.Context, name, recordType string) (Answer, error)

// Answer is the outcome of a [Lookup].
type Answer struct {
	// Values are the RDATA of the records in presentation form (RFC 1035 5.1): names end with
	// a dot. Texts of TXT records are without quotes and escapes.
	Values []string
	// TTL is in seconds.
	TTL int64
}

func (o *Options) complete() {
	if o.Types == nil {
		o.Types = []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT}
	}
	if o.Rejects == nil {
		o.Rejects = impossible
	}
}

// impossible returns record sets that no DNS server can have.
func impossible(zone string) []*dns.RecordSet {
	return []*dns.RecordSet{
		{Name: "address." + zone, Type: dns.TypeA, Targets: []string{"not-an-address"}},
		{Name: "family." + zone, Type: dns.TypeA, Targets: []string{"2001:db8::1"}},
		{Name: "family6." + zone, Type: dns.TypeAAAA, Targets: []string{"192.0.2.1"}},
		{Name: longLabel + "x." + zone, Type: dns.TypeA, Targets: []string{"192.0.2.1"}},
		{Name: "empty..label." + zone, Type: dns.TypeA, Targets: []string{"192.0.2.1"}},
	}
}
