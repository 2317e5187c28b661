package providertest

import (
	"context"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// Options configure [Run].
type Options struct {
	// Open returns a provider for a zone of its own, which has only the server's own records. It is called
	// for each check. The input is complete, and says whether this is a dry run.
	Open func(t *testing.T, in provider.Input) Fixture
	// Types are the record types that the provider supports; nil means A, AAAA, CNAME and TXT. Checks that
	// need other types are skipped.
	Types []string
	// Rejects returns record sets for a zone that the provider must refuse: a change that creates one must
	// fail with an error that says what was applied. Nil means [Impossible].
	// An empty list is for providers that store anything.
	Rejects func(zone string) []*dns.RecordSet
	// Properties are the names of properties that the provider stores, with any text as value.
	Properties []string
	// Twins opens a provider with two zones of the name in the fixture. It is nil if the provider can't have
	// such zones.
	Twins func(t *testing.T, in provider.Input) Fixture
	// Without names checks that the provider can't pass, with the reason.
	Without map[string]string
}

// Fixture is a provider with a zone that nobody else changes.
type Fixture struct {
	Provider provider.Provider
	// Zone is the name of the zone. If the provider has no zones, it is any name.
	Zone string
	// Reverse is the name of a zone for PTR records, below in-addr.arpa. It may be empty if Types lacks PTR.
	Reverse string
	// Child is the name of a zone below Zone, without records in Zone. It may be empty.
	Child string
	// Lookup reads the zone without the provider. It is nil if that is impossible.
	Lookup Lookup
	// Reopen opens another provider for the same zone, as a new process would. It is nil if the zone ends
	// with the provider.
	Reopen func(t *testing.T) provider.Provider
}

// Lookup reads the records of one name and type as a client of the zone does. The answer is empty if there
// are none.
type Lookup func(ctx context.Context, name, recordType string) (Answer, error)

// Answer is the result of a [Lookup].
type Answer struct {
	// Values are the RDATA of the records in presentation form (RFC 1035 5.1), with trailing dots. Texts of
	// TXT records are unquoted and unescaped.
	Values []string
	// TTL is in seconds.
	TTL int64
}

func (o *Options) complete() {
	if o.Types == nil {
		o.Types = []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT}
	}
	if o.Rejects == nil {
		o.Rejects = Impossible
	}
}

// Impossible returns record sets that no DNS server can have.
func Impossible(zone string) []*dns.RecordSet {
	return []*dns.RecordSet{
		{Name: "address." + zone, Type: dns.TypeA, Targets: []string{"not-an-address"}},
		{Name: "family." + zone, Type: dns.TypeA, Targets: []string{"2001:db8::1"}},
		{Name: "family6." + zone, Type: dns.TypeAAAA, Targets: []string{"192.0.2.1"}},
		{Name: longLabel + "x." + zone, Type: dns.TypeA, Targets: []string{"192.0.2.1"}},
		{Name: "empty..label." + zone, Type: dns.TypeA, Targets: []string{"192.0.2.1"}},
	}
}
