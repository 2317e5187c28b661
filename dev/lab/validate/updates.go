package validate

import (
	"maps"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/signpostd/signpost/dev/lab/history"
)

// unknownAuthor is the author of a serial that no update explains.
const unknownAuthor = ""

// zoneUpdate is a DNS UPDATE that may have changed a zone.
type zoneUpdate struct {
	author    string
	arrived   time.Duration
	responded time.Duration // zero without response
	confirmed bool          // the response confirmed the change
	names     map[string]bool
	message   *dns.Msg
	used      bool // its serial is known
}

// authors finds the update that made each serial of a zone. A name server makes one serial for each update
// that changes something, in the order in which it carries them out.
type authors struct {
	updates []*zoneUpdate // in the order of arrival
	byName  map[string][]*zoneUpdate
	// latest is the arrival of the update that made the last serial. An update that was confirmed before
	// can't have made a later serial.
	latest time.Duration
}

func newAuthors(h history.History, zone string) *authors {
	a := &authors{byName: map[string][]*zoneUpdate{}}
	for _, e := range h.Entries {
		if e.Write == nil || e.Write.Update == nil || !strings.EqualFold(dns.Fqdn(e.Write.Update.Zone), dns.Fqdn(zone)) {
			continue
		}
		if u := newZoneUpdate(e.At, *e.Write); u != nil {
			a.updates = append(a.updates, u)
			for name := range u.names {
				a.byName[name] = append(a.byName[name], u)
			}
		}
	}
	return a
}

// newZoneUpdate returns nil for an update that was certainly refused, or that can't be decoded.
func newZoneUpdate(at time.Duration, w history.Write) *zoneUpdate {
	switch w.Status {
	case dns.RcodeSuccess, -1, dns.RcodeServerFailure:
	default:
		return nil
	}
	u := &zoneUpdate{
		author: w.Replica, arrived: at, responded: w.Responded, confirmed: w.Status == dns.RcodeSuccess && w.Responded > 0,
		names: map[string]bool{}, message: new(dns.Msg),
	}
	if u.message.Unpack(w.Update.Message) != nil {
		return nil
	}
	for _, rr := range u.message.Ns {
		u.names[strings.ToLower(dns.Fqdn(rr.Header().Name))] = true
	}
	return u
}

// authorOf returns who made the change d of z, seen at the given time: the author of the first
// update that has exactly this effect.
func (a *authors) authorOf(z zoneState, d zoneDelta, at time.Duration) string {
	for _, u := range a.candidates(d.names(), at) {
		if u.effect(z).equal(d) {
			u.used = true
			a.latest = max(a.latest, u.arrived)
			return u.author
		}
	}
	return unknownAuthor
}

// candidates returns the updates that concern all of the names and may not have had an effect yet.
func (a *authors) candidates(names map[string]bool, at time.Duration) []*zoneUpdate {
	var about string
	for name := range names {
		if about == "" || len(a.byName[name]) < len(a.byName[about]) {
			about = name
		}
	}
	var out []*zoneUpdate
	for _, u := range a.outstanding(about, at) {
		if containsAll(u.names, names) {
			out = append(out, u)
		}
	}
	return out
}

// outstanding returns the updates about a name that have arrived and may not have had an effect yet. Other
// updates that have arrived are forgotten.
func (a *authors) outstanding(name string, at time.Duration) []*zoneUpdate {
	list := a.byName[name]
	arrived := 0
	for arrived < len(list) && list[arrived].arrived <= at {
		arrived++
	}
	kept := arrived
	for n := arrived - 1; n >= 0; n-- {
		if u := list[n]; !u.used && !(u.confirmed && u.responded < a.latest) {
			kept--
			list[kept] = u
		}
	}
	a.byName[name] = list[kept:]
	return list[kept:arrived]
}

func containsAll(set, part map[string]bool) bool {
	for name := range part {
		if !set[name] {
			return false
		}
	}
	return true
}

// effect returns the changes of the update in z (RFC 2136, section 3.4.2): none if a prerequisite doesn't hold.
func (u *zoneUpdate) effect(z zoneState) zoneDelta {
	if !z.satisfies(u.message.Answer) {
		return zoneDelta{}
	}
	before := z.part(u.names)
	after := zoneState{}
	for s, records := range before {
		after[s] = maps.Clone(records)
	}
	for _, rr := range u.message.Ns {
		updateRecord(after, rr)
	}
	return before.difference(after)
}

// satisfies reports whether the prerequisites of an update hold (RFC 2136, section 3.2). Those with values hold if
// the set has these values and no others.
func (z zoneState) satisfies(prerequisites []dns.RR) bool {
	wanted := zoneState{}
	for _, rr := range prerequisites {
		header := rr.Header()
		if header.Class == dns.ClassINET {
			wanted.add(recordOf(rr))
		} else if exists := z.exists(strings.ToLower(dns.Fqdn(header.Name)), header.Rrtype); exists != (header.Class == dns.ClassANY) {
			return false
		}
	}
	for s, records := range wanted {
		sameData := func(a, b zoneRecord) bool { return a.data == b.data }
		if !maps.EqualFunc(records, z[s], sameData) {
			return false
		}
	}
	return true
}

// exists reports whether a name has records of a type, or of any type.
func (z zoneState) exists(name string, kind uint16) bool {
	if kind != dns.TypeANY {
		return len(z[recordSet{name, kind}]) > 0
	}
	for s := range z {
		if s.name == name {
			return true
		}
	}
	return false
}

// updateRecord applies one record of an update section.
func updateRecord(z zoneState, rr dns.RR) {
	header := rr.Header()
	name := strings.ToLower(dns.Fqdn(header.Name))
	switch header.Class {
	case dns.ClassANY:
		for s := range z {
			if s.name == name && (header.Rrtype == dns.TypeANY || header.Rrtype == s.kind) {
				delete(z, s)
			}
		}
	case dns.ClassNONE:
		copied := dns.Copy(rr)
		copied.Header().Class = dns.ClassINET
		z.remove(recordOf(copied))
	default:
		addRecord(z, recordOf(rr))
	}
}

// addRecord adds a record as a name server does: all records of a set get the same TTL, and a CNAME replaces
// another one. A CNAME has no other records at its name except DNSSEC ones.
func addRecord(z zoneState, r zoneRecord) {
	for s := range z {
		if s.name != r.set.name || s == r.set {
			continue
		}
		if s.kind == dns.TypeCNAME || r.set.kind == dns.TypeCNAME {
			return
		}
	}
	if r.set.kind == dns.TypeCNAME || r.set.kind == dns.TypeDNAME {
		delete(z, r.set)
	}
	for data, other := range z[r.set] {
		other.ttl = r.ttl
		z[r.set][data] = other
	}
	z.add(r)
}
