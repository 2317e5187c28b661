package desired

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
)

// Options are the settings that concern the records of all sources (spec/dns.md §6.13, §12).
// The zero value is their defaults.
type Options struct {
	// Sources are the names of the sources in the order in which they count. Others come
	// after them, by name.
	Sources []string
	// DefaultTargets are for record sets without targets, and with ForceDefaultTargets for
	// all.
	DefaultTargets      []string
	ForceDefaultTargets bool
	// NAT64 are IPv6 networks of 96 bits: an address in one of them also is an IPv4 address.
	NAT64 []string
	// Targets says which targets are published; nil is all.
	Targets *dns.TargetFilter
	// ManagedTypes are the types of record sets that are published; empty is A, AAAA and
	// CNAME. Only whether PTR is among them matters here: without it, none are made.
	ManagedTypes []string
	// CreatePTR: addresses get PTR record sets unless their record set says no.
	CreatePTR bool
	// MinTTL is the TTL of record sets that ask for none, in whole seconds; zero is none.
	MinTTL time.Duration
	// PreferAlias: CNAME record sets that don't say are aliases.
	PreferAlias bool
	// Provider is what --provider says; properties of others are dropped.
	Provider string
}

// settings are Options in the form in which they are used.
type settings struct {
	Options
	// ranks has the place of each source.
	ranks map[string]int
	nat64 []netip.Prefix
	ptr   bool
	ttl   int64
}

func (o Options) settings() (settings, error) {
	s := settings{
		Options: o,
		ranks:   make(map[string]int, len(o.Sources)),
		ptr:     slices.Contains(o.ManagedTypes, dns.TypePTR),
		ttl:     int64(o.MinTTL / time.Second),
	}
	for i, source := range o.Sources {
		if _, twice := s.ranks[source]; !twice {
			s.ranks[source] = i
		}
	}
	for _, network := range o.NAT64 {
		p, err := netip.ParsePrefix(network)
		if err != nil || !p.Addr().Is6() || p.Bits() != nat64Bits {
			return settings{}, fmt.Errorf("NAT64 network %q: write an IPv6 network of %d bits such as 64:ff9b::/%[2]d", network, nat64Bits)
		}
		s.nat64 = append(s.nat64, p.Masked())
	}
	if o.MinTTL < 0 {
		return settings{}, fmt.Errorf("minimum TTL %v: it must not be negative", o.MinTTL)
	}
	if o.CreatePTR && !s.ptr {
		return settings{}, errors.New("PTR record sets are to be created but not managed: add PTR to the managed record types")
	}
	return s, nil
}

// rank returns the place of a source.
func (s *settings) rank(source string) int {
	if rank, ok := s.ranks[source]; ok {
		return rank
	}
	return len(s.ranks)
}
