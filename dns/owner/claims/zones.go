package claims

import "github.com/signpostd/signpost/dns"

// zones has the keys of claims by zone, so that a listing of one zone doesn't have to visit the
// claims of all others.
type zones struct {
	placed map[string]map[dns.Key]struct{}
	// unplaced are the keys, mostly new ones, whose zone is unknown.
	unplaced map[dns.Key]struct{}
}

// in returns the keys in a zone. zoneOf returns the zone of a name, or "". exists reports whether
// the claim still exists.
func (z zones) in(zone string, zoneOf func(name string) string, exists func(dns.Key) bool) map[dns.Key]struct{} {
	for key := range z.placed[zone] {
		if zoneOf(key.Name) != zone {
			delete(z.placed[zone], key)
			z.unplaced[key] = struct{}{}
		}
	}
	for key := range z.unplaced {
		if of := zoneOf(key.Name); of != "" {
			delete(z.unplaced, key)
			z.put(of, key)
		}
	}
	for key := range z.placed[zone] {
		if !exists(key) {
			delete(z.placed[zone], key)
		}
	}
	return z.placed[zone]
}

func (z zones) put(zone string, key dns.Key) {
	if z.placed[zone] == nil {
		z.placed[zone] = map[dns.Key]struct{}{}
	}
	z.placed[zone][key] = struct{}{}
}
