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

// Options are the settings for the records of all sources (spec/dns.md §6.13, §12). The zero
// value has the defaults.
type Options struct {
	// Sources are the names of the sources in their order. Others follow them, sorted by name.
	Sources []string
	// OneTTL are the sources whose objects give all record sets of a name one TTL.
	OneTTL []string
	// DefaultTargets are for record sets without targets; with ForceDefaultTargets, for all.
	DefaultTargets      []string
	ForceDefaultTargets bool
	// NAT64 are IPv6 networks of 96 bits. An address in one of them contains an IPv4 address.
	NAT64 []string
	// Targets says which targets are published. Nil stands for all.
	Targets *dns.TargetFilter
	// ManagedTypes are the types of record sets that are published; empty stands for A, AAAA
	// and CNAME. Here it only matters whether PTR is one of them: if not, no PTR record sets
	// are made.
	ManagedTypes []string
	// CreatePTR is true when addresses get PTR record sets, unless their record set says
	// otherwise.
	CreatePTR bool
	// MinTTL is the TTL of record sets that ask for none, in whole seconds; zero is none. With ForceMinTTL, record sets
	// that ask for a lower one get it, too. MaxTTL is the highest TTL; zero is no limit.
	MinTTL, MaxTTL time.Duration
	ForceMinTTL    bool
	// Domains says which names each namespace may ask for. Nil stands for all.
	Domains *tenancy.Domains
	// Labelled is true when the label resource of each record set names an object of the namespace that asks for it,
	// whatever the object itself says: the namespace that has a name is read from it.
	Labelled bool
	// PreferAlias is true when CNAME record sets without the property alias become aliases.
	PreferAlias bool
	// Refuse returns why nobody could own a record set, as an error of the kind that
	// [dns.RecordSet.Check] returns, or nil. Nil refuses none.
	Refuse func(*dns.RecordSet) error
	// Properties are what the names of the properties begin with that the provider reads.
	// Those of other providers are dropped.
	Properties []string
	// OneName are the properties that are lists, separated by commas, of what only one name can have.
	OneName []string
	// NameCharacters are those of [dns.EscapedCharacters] that names can have.
	NameCharacters string
}

// settings are Options in the form in which they are used.
type settings struct {
	Options
	// ranks has the position of each source.
	ranks map[string]int
	nat64 []netip.Prefix
	ptr   bool
	// ttl and maxTTL are MinTTL and MaxTTL in seconds.
	ttl, maxTTL int64
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
		return settings{}, fmt.Errorf("--min-ttl %v: must not be negative", o.MinTTL)
	}
	if o.MaxTTL < 0 || o.MaxTTL > 0 && o.MaxTTL < max(o.MinTTL, time.Second) {
		return settings{}, fmt.Errorf("--max-ttl %v: must be at least 1s, and not lower than --min-ttl (%v); 0 is no limit", o.MaxTTL, o.MinTTL)
	}
	if o.CreatePTR && !s.ptr {
		return settings{}, errors.New("--create-ptr: PTR records are not managed: add --managed-record-types=PTR")
	}
	return s, nil
}

// rank returns the position of a source.
func (s *settings) rank(source string) int {
	if rank, ok := s.ranks[source]; ok {
		return rank
	}
	return len(s.ranks)
}
