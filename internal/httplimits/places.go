package httplimits

import (
	"net/netip"
	"slices"
)

// networkBits is the length of the IPv6 prefix that one host may have to itself. In Kubernetes, the pods of a
// node usually share one.
const networkBits = 64

// hostOf returns the address by which connections and requests are counted. All non-IP addresses are one
// host.
func hostOf(address string) netip.Addr {
	from, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.Addr{}
	}
	return from.Addr().Unmap().WithZone("")
}

// networkOf returns the addresses that one host may have.
func networkOf(host netip.Addr) netip.Prefix {
	bits := host.BitLen()
	if host.Is6() && !host.IsLoopback() {
		bits = networkBits
	}
	// The number of bits fits the address. All non-IP addresses are one network.
	network, _ := host.Prefix(bits)
	return network
}

// places are a number of places for connections or requests. The zero value has none. The user of places has a
// lock for them.
type places[T comparable] struct {
	// all is the number of places, and perHost how many of them one host may have.
	all, perHost int
	// evict decides if no place is free, and no host has two or more places more than the asking host. With
	// evict, the oldest entry of the asking host is replaced or, if it has none, that of the host with the most.
	// Without evict, the asking host gets no place.
	evict  bool
	taken  int
	byHost map[netip.Addr][]T // the oldest first
}

func newPlaces[T comparable](all, perHost int) places[T] {
	return places[T]{all: all, perHost: perHost, byHost: map[netip.Addr][]T{}}
}

// take gives a place to a host; ok is false if it gets none. If lost is true, the place is that of victim, which
// the caller has to end.
func (p *places[T]) take(host netip.Addr, of T) (victim T, lost, ok bool) {
	own := len(p.byHost[host])
	if own < p.perHost && p.taken < p.all {
		p.add(host, of)
		return victim, false, true
	}
	loser, excess := host, 0
	if own < p.perHost {
		loser, excess = p.greediest(host)
	}
	if excess <= 1 {
		if !p.evict {
			return victim, false, false
		}
		if own > 0 {
			loser = host
		}
	}
	victim = p.byHost[loser][0]
	p.leave(loser, victim)
	p.add(host, of)
	return victim, true, true
}

// add gives a free place to a host.
func (p *places[T]) add(host netip.Addr, of T) {
	p.taken++
	p.byHost[host] = append(p.byHost[host], of)
}

// greediest returns the host with the most places, within the network that has the most. excess is how many
// places it has more than the host other or, if the two are in different networks, its network more than that of
// other.
func (p *places[T]) greediest(other netip.Addr) (greedy netip.Addr, excess int) {
	networks := map[netip.Prefix]int{}
	for host, of := range p.byHost {
		networks[networkOf(host)] += len(of)
	}
	most := networkOf(other)
	for network, n := range networks {
		if n > networks[most] {
			most = network
		}
	}
	taken := 0
	for host, of := range p.byHost {
		if networkOf(host) == most && len(of) > taken {
			greedy, taken = host, len(of)
		}
	}
	if most == networkOf(other) {
		return greedy, taken - len(p.byHost[other])
	}
	return greedy, networks[most] - networks[networkOf(other)]
}

// leave frees a place. It is idempotent.
func (p *places[T]) leave(host netip.Addr, of T) {
	before := len(p.byHost[host])
	after := slices.DeleteFunc(p.byHost[host], func(other T) bool { return other == of })
	p.taken -= before - len(after)
	p.byHost[host] = after
	if len(after) == 0 {
		delete(p.byHost, host)
	}
}
