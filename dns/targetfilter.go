package dns

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// TargetFilter selects targets by the networks that contain them (spec/dns.md §2.6). A nil filter,
// and the zero value, select every target.
type TargetFilter struct {
	include, exclude []netip.Prefix
}

// NewTargetFilter returns a filter that selects the targets in one of the included networks and in
// none of the excluded ones. If include is empty, every target is included. An invalid network is
// ignored and returned as a problem.
func NewTargetFilter(include, exclude []string) (*TargetFilter, []Problem) {
	var f TargetFilter
	var problems, more []Problem
	f.include, problems = parseNetworks("--target-net-filter", include)
	f.exclude, more = parseNetworks("--exclude-target-net", exclude)
	return &f, append(problems, more...)
}

func parseNetworks(flag string, values []string) (networks []netip.Prefix, problems []Problem) {
	for _, value := range values {
		p, err := parseNetwork(value)
		if err != nil {
			problems = append(problems, Problem{Subject: flag, Value: value, Reason: fmt.Sprintf("not a network: %v", err)})
			continue
		}
		networks = append(networks, p.Masked())
	}
	return networks, problems
}

// parseNetwork parses a network or a single address. An IPv4-mapped IPv6 address becomes IPv4.
func parseNetwork(cidr string) (netip.Prefix, error) {
	if !strings.Contains(cidr, "/") {
		addr, err := netip.ParseAddr(cidr)
		if err != nil {
			return netip.Prefix{}, fmt.Errorf("%w: write a network such as 10.0.0.0/8, or an address", err)
		}
		addr = addr.Unmap().WithZone("")
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%w: write a network such as 10.0.0.0/8, or an address", err)
	}
	const mapped = 96
	if p.Addr().Is4In6() && p.Bits() >= mapped {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mapped)
	}
	return p, nil
}

// Configured reports whether the filter can reject a target at all.
func (f *TargetFilter) Configured() bool { return f != nil && len(f.include)+len(f.exclude) > 0 }

// Match reports whether a target is selected. A name is in no network.
func (f *TargetFilter) Match(target string) bool {
	if !f.Configured() {
		return true
	}
	addr, err := netip.ParseAddr(target)
	if err != nil {
		return len(f.include) == 0
	}
	addr = addr.Unmap().WithZone("")
	holds := func(p netip.Prefix) bool { return p.Contains(addr) }
	return (len(f.include) == 0 || slices.ContainsFunc(f.include, holds)) && !slices.ContainsFunc(f.exclude, holds)
}

// Rejecter returns the flag that excludes a target; empty if the target is selected.
func (f *TargetFilter) Rejecter(target string) string {
	if f.Match(target) {
		return ""
	}
	if included := (&TargetFilter{include: f.include}); !included.Match(target) {
		return "--target-net-filter"
	}
	return "--exclude-target-net"
}

// Keep returns the selected targets. It doesn't change its argument, and returns it if all targets
// are selected.
func (f *TargetFilter) Keep(targets []string) []string {
	if !f.Configured() {
		return targets
	}
	drop := func(t string) bool { return !f.Match(t) }
	if !slices.ContainsFunc(targets, drop) {
		return targets
	}
	return slices.DeleteFunc(slices.Clone(targets), drop)
}
