package httplimits

import (
	"net/netip"
	"slices"
)

// hostBits is the prefix of an IPv6 address that identifies a host, which may choose the rest.
const hostBits = 64

// hostOf returns the key by which connections and requests are counted. All non-IP addresses are one host.
func hostOf(address string) netip.Prefix {
	from, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.Prefix{}
	}
	ip := from.Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() && !ip.IsLoopback() {
		bits = hostBits
	}
	// The number of bits fits the address.
	host, _ := ip.Prefix(bits)
	return host
}

// places are a number of places for connections or requests. The zero value has none. Its user locks it.
type places[T comparable] struct {
	// all is the number of places, and perHost how many of them one host may have.
	all, perHost int
	taken        int
	byHost       map[netip.Prefix][]T // the oldest first
}

func newPlaces[T comparable](all, perHost int) places[T] {
	return places[T]{all: all, perHost: perHost, byHost: map[netip.Prefix][]T{}}
}

// take gives a place to a host, or returns false. If another host has lost its place, it is the victim.
func (p *places[T]) take(host netip.Prefix, of T) (victim T, lost, ok bool) {
	if len(p.byHost[host]) >= p.perHost {
		return victim, false, false
	}
	if p.taken >= p.all {
		greedy := p.greediest()
		if len(p.byHost[greedy]) <= len(p.byHost[host])+1 {
			return victim, false, false
		}
		victim, lost = p.byHost[greedy][0], true
		p.leave(greedy, victim)
	}
	p.taken++
	p.byHost[host] = append(p.byHost[host], of)
	return victim, lost, true
}

// greediest returns the host with the most places.
func (p *places[T]) greediest() (most netip.Prefix) {
	for host, of := range p.byHost {
		if len(of) > len(p.byHost[most]) {
			most = host
		}
	}
	return most
}

// leave frees a place. It is idempotent.
func (p *places[T]) leave(host netip.Prefix, of T) {
	before := len(p.byHost[host])
	after := slices.DeleteFunc(p.byHost[host], func(other T) bool { return other == of })
	p.taken -= before - len(after)
	p.byHost[host] = after
	if len(after) == 0 {
		delete(p.byHost, host)
	}
}
