package claims

import (
	"slices"

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
	// former are the other zones that held a key while its claim was confirmed. They may still have the record
	// set, and come back.
	former map[dns.Key][]string
	// confirmed reports whether the claim of a key is confirmed.
	confirmed func(dns.Key) bool
}

func newZones(confirmed func(dns.Key) bool) zones {
	return zones{
		placed: map[string]map[dns.Key]struct{}{}, of: map[dns.Key]string{}, unplaced: map[dns.Key]string{}, former: map[dns.Key][]string{},
		confirmed: confirmed,
	}
}

// add adds the key of a new claim.
func (z zones) add(key dns.Key) {
	z.create(key)
	delete(z.former, key)
}

// create is called before a record set is created, in a zone that the next listing shows.
func (z zones) create(key dns.Key) {
	z.unplace(key)
	z.unplaced[key] = ""
}

// unplace takes a key out of its zone, if it has one.
func (z zones) unplace(key dns.Key) {
	zone, placed := z.of[key]
	if !placed {
		return
	}
	delete(z.placed[zone], key)
	delete(z.of, key)
	z.unplaced[key] = zone
	if z.confirmed(key) && !slices.Contains(z.former[key], zone) {
		z.former[key] = append(z.former[key], zone)
	}
}

// in returns the keys in a listed zone. exists reports whether the claim still exists. moved is called with each
// key that another zone held before; back is true for a former zone.
func (z zones) in(l owner.Listing, exists func(dns.Key) bool, moved func(key dns.Key, back bool)) map[dns.Key]struct{} {
	for key := range z.placed[l.Zone] {
		if l.ZoneOf(key.Name) != l.Zone {
			z.unplace(key)
		}
	}
	for _, r := range l.Records {
		key := r.Key()
		if of, placed := z.of[key]; placed && of != l.Zone && l.ZoneOf(key.Name) == l.Zone {
			z.unplace(key)
		}
	}
	for key, before := range z.unplaced {
		of := l.ZoneOf(key.Name)
		if of == "" {
			continue
		}
		back := z.place(of, key)
		if back || before != "" && before != of {
			moved(key, back)
		}
	}
	for key := range z.placed[l.Zone] {
		if !exists(key) {
			delete(z.placed[l.Zone], key)
			delete(z.of, key)
			delete(z.former, key)
		}
	}
	return z.placed[l.Zone]
}

// place puts a key into a zone. back is true for a former zone.
func (z zones) place(zone string, key dns.Key) (back bool) {
	if z.placed[zone] == nil {
		z.placed[zone] = map[dns.Key]struct{}{}
	}
	delete(z.unplaced, key)
	z.placed[zone][key], z.of[key] = struct{}{}, zone
	if i := slices.Index(z.former[key], zone); i >= 0 {
		z.former[key], back = slices.Delete(z.former[key], i, i+1), true
	}
	return back
}

// elsewhere reports whether a former zone may have the record set of a key.
func (z zones) elsewhere(key dns.Key) bool { return len(z.former[key]) > 0 }
