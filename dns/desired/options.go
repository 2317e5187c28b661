package desired

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/tenancy"
)

// Options are the settings for the records of all sources (spec/dns.md §6.13, §12). The zero value
// means the defaults.
type Options struct {
	// Sources are the names of the sources in their order. Others follow, sorted by name.
	Sources []string
	// OneTTL are the sources whose objects use one TTL for all record sets of a name.
	OneTTL []string
	// DefaultTargets are for record sets without targets; with ForceDefaultTargets, for all.
	DefaultTargets      []string
	ForceDefaultTargets bool
	// NAT64 are IPv6 networks of 96 bits. An address in one of them contains an IPv4 address.
	NAT64 []string
	// Targets filters the targets; nil means all.
	Targets *dns.TargetFilter
	// ManagedTypes are the published record types; empty means A, AAAA and CNAME. Here only PTR
	// matters: if it isn't managed, no PTR record sets are made.
	ManagedTypes []string
	// CreatePTR makes PTR record sets for addresses, unless a record set says otherwise.
	CreatePTR bool
	// MinTTL is the TTL of record sets without one, in whole seconds; zero means none. With
	// ForceMinTTL, it also replaces lower TTLs. MaxTTL is the maximum TTL; zero means no limit.
	MinTTL, MaxTTL time.Duration
	ForceMinTTL    bool
	// Domains says which names each namespace may ask for. Nil allows all.
	Domains *tenancy.Domains
	// Labelled makes the label resource of each record set name an object of the requesting namespace,
	// whatever the object itself says. The holder of a name is read from this label.
	Labelled bool
	// PreferAlias makes CNAME record sets without the property alias aliases.
	PreferAlias bool
	// Refuse returns, in the form of [dns.RecordSet.Check], why the registry can't own a record set,
	// or nil. A nil Refuse refuses none.
	Refuse func(*dns.RecordSet) error
	// Properties are the prefixes of the properties that the provider reads. Those of other providers
	// are dropped.
	Properties []string
	// OneName are the comma-separated list properties whose values only one name can have.
	OneName []string
	// NameCharacters are the [dns.EscapedCharacters] that are allowed in names.
	NameCharacters string
}

// settings are Options in a form that is efficient to use.
type settings struct {
	Options
	// ranks has the position of each source.
	ranks map[string]int
	nat64 []netip.Prefix
	ptr   bool
	// ttl and maxTTL are MinTTL and MaxTTL in seconds.
	ttl, maxTTL int64
}

// Check returns the error of invalid settings, which [New] would return.
func (o Options) Check() error {
	_, err := o.settings()
	return err
}

func (o Options) settings() (settings, error) {
	s := settings{
		Options: o,
		ranks:   make(map[string]int, len(o.Sources)),
		ptr:     slices.Contains(o.ManagedTypes, dns.TypePTR),
		ttl:     int64(o.MinTTL / time.Second),
		maxTTL:  int64(o.MaxTTL / time.Second),
	}
	for i, source := range o.Sources {
		if _, twice := s.ranks[source]; !twice {
			s.ranks[source] = i
		}
	}
	for _, network := range o.NAT64 {
		p, err := netip.ParsePrefix(network)
		if err != nil || !p.Addr().Is6() || p.Bits() != nat64Bits {
			return settings{}, fmt.Errorf("--nat64-networks %q: give an IPv6 network of %d bits such as 64:ff9b::/%[2]d", network, nat64Bits)
		}
		s.nat64 = append(s.nat64, p.Masked())
	}
	if o.MinTTL < 0 {
		return settings{}, fmt.Errorf("--min-ttl=%v: must not be negative", o.MinTTL)
	}
	if o.MaxTTL < 0 || o.MaxTTL > 0 && o.MaxTTL < max(o.MinTTL, time.Second) {
		return settings{}, fmt.Errorf("--max-ttl=%v: must be at least 1s, and not lower than --min-ttl (%v); 0 is no limit", o.MaxTTL, o.MinTTL)
	}
	if o.CreatePTR && !s.ptr {
		return settings{}, errors.New("--create-ptr: PTR records are not managed: add --managed-record-types=PTR")
	}
	return s, nil
}

func (s *settings) rank(source string) int {
	if rank, ok := s.ranks[source]; ok {
		return rank
	}
	return len(s.ranks)
}
