package providertest

import (
	"context"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// Options say what [Run] is to check.
type Options struct {
	// Open returns a provider over a zone of its own, which has nothing in it but what its
	// server puts there. It is called for each check; in has everything that a provider
	// may ask for, and says whether this is a dry run.
	Open func(t *testing.T, in provider.Input) Fixture
	// Types are the types of record sets that the provider can handle; A, AAAA, CNAME and
	// TXT if there are none. Checks that need others are not run.
	Types []string
	// Rejects returns record sets for a zone that the provider has to refuse without asking
	// any server twice: a change that creates one has to fail with a known outcome. Nil
	// stands for a few that no DNS server can have; empty is for providers that store anything.
	Rejects func(zone string) []*dns.RecordSet
	// Without are checks that can't hold for the provider, each with the reason.
	Without map[string]string
}

// Fixture is a provider over a zone that nobody else changes.
type Fixture struct {
	Provider provider.Provider
	// Zone is the name of the zone, or any name if the provider has no zones.
	Zone string
	// Reverse is the name of a zone for PTR records, one below in-addr.arpa; it may be empty
	// if the types don't include PTR.
	Reverse string
	// Lookup reads the zone by other means than the provider; nil if there are none.
	Lookup Lookup
	// Reopen returns another provider over the same zone, as a new process has it; nil if
	// the zone doesn't outlive the provider.
	Reopen func(t *testing.T) provider.Provider
}

// Lookup reads the records of one name and type, in the way that clients of the zone do.
// The answer is empty when there are none.
type Lookup func(ctx context.Context, name, recordType string) (Answer, error)

// Answer is the outcome of a [Lookup].
type Answer struct {
	// Values are the RDATA of the records in presentation form (RFC 1035 5.1), where names
	// end with a dot, and of a TXT record its text without quotes and escapes.
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

// impossible returns record sets that don't fit into any DNS server.
func impossible(zone string) []*dns.RecordSet {
	return []*dns.RecordSet{
		{Name: "address." + zone, Type: dns.TypeA, Targets: []string{"not-an-address"}},
		{Name: "family." + zone, Type: dns.TypeA, Targets: []string{"2001:db8::1"}},
		{Name: "family6." + zone, Type: dns.TypeAAAA, Targets: []string{"192.0.2.1"}},
		{Name: longLabel + "x." + zone, Type: dns.TypeA, Targets: []string{"192.0.2.1"}},
		{Name: "empty..label." + zone, Type: dns.TypeA, Targets: []string{"192.0.2.1"}},
	}
}
