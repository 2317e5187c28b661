package claims

import (
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
)

// zones has the keys of claims by zone, so that a listing of one zone doesn't have to visit the
// claims of all others.
type zones struct {
	placed map[string]map[dns.Key]struct{}
	// of has the zone of each placed key.
	of map[dns.Key]string
	// unplaced are the keys, mostly new ones, whose zone is unknown, with the zone that held them before; empty
	// if there was none.
	unplaced map[dns.Key]string
}

func newZones() zones {
	return zones{placed: map[string]map[dns.Key]struct{}{}, of: map[dns.Key]string{}, unplaced: map[dns.Key]string{}}
}

// add adds a new key, or one whose record set is about to be created. Its former zone doesn't matter any more.
func (z zones) add(key dns.Key) {
	z.unplace(key)
	z.unplaced[key] = ""
}

// unplace takes a key out of its zone, if it has one.
func (z zones) unplace(key dns.Key) {
	if zone, placed := z.of[key]; placed {
		delete(z.placed[zone], key)
		delete(z.of, key)
		z.unplaced[key] = zone
	}
}

// in returns the keys in a listed zone. exists reports whether the claim still exists. moved is called with each
// key that another zone held before.
func (z zones) in(l owner.Listing, exists func(dns.Key) bool, moved func(dns.Key)) map[dns.Key]struct{} {
	for key := range z.placed[l.Zone] {
		if l.ZoneOf(key.Name) != l.Zone {
			z.unplace(key)
		}
	}
	for _, r := range l.Records {
		if key := r.Key(); z.of[key] != l.Zone && l.ZoneOf(key.Name) == l.Zone {
			z.unplace(key)
		}
	}
	for key, before := range z.unplaced {
		of := l.ZoneOf(key.Name)
		if of == "" {
			continue
		}
		z.place(of, key)
		if before != "" && before != of {
			moved(key)
		}
	}
	for key := range z.placed[l.Zone] {
		if !exists(key) {
			delete(z.placed[l.Zone], key)
			delete(z.of, key)
		}
	}
	return z.placed[l.Zone]
}

func (z zones) place(zone string, key dns.Key) {
	if z.placed[zone] == nil {
		z.placed[zone] = map[dns.Key]struct{}{}
	}
	delete(z.unplaced, key)
	z.placed[zone][key], z.of[key] = struct{}{}, zone
}
