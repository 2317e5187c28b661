package validate

import (
	"maps"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/signpostd/signpost/dev/lab/history"
)

// nobody is the author of a serial that no update explains.
const nobody = ""

// zoneUpdate is a message that may have changed a zone.
type zoneUpdate struct {
	author   string
	arrived  time.Duration
	answered time.Duration // zero if there was no answer
	done     bool          // it was answered that the change was made
	names    map[string]bool
	message  *dns.Msg // nil if the history doesn't have it
	used     bool     // it is known which serial it made
}

// authors finds out who made the serials of a zone. A name server makes one serial of each update that changes
// something, in the order in which it carries them out.
type authors struct {
	updates []*zoneUpdate // in the order of arrival
	byName  map[string][]*zoneUpdate
	// latest is the arrival of the update that made the serial before: what was answered before it has made none that
	// comes later.
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

// newZoneUpdate returns nil for an update that was certainly refused.
func newZoneUpdate(at time.Duration, w history.Write) *zoneUpdate {
	switch w.Status {
	case dns.RcodeSuccess, -1, dns.RcodeServerFailure:
	default:
		return nil
	}
	u := &zoneUpdate{author: w.Replica, arrived: at, answered: w.Answered, done: w.Status == dns.RcodeSuccess && w.Answered > 0, names: map[string]bool{}}
	for _, name := range w.Update.Names {
		u.names[strings.ToLower(dns.Fqdn(name))] = true
	}
	if m := new(dns.Msg); len(w.Update.Message) > 0 && m.Unpack(w.Update.Message) == nil {
		u.message = m
	}
	return u
}

// of returns who has made the change d of z, which was seen at the given time. If there is no update that has exactly
// this effect, it is the first one that is about these names and whose message isn't known.
func (a *authors) of(z zoneState, d zoneDelta, at time.Duration) string {
	candidates := a.candidates(d.names(), at)
	for _, u := range candidates {
		if u.message != nil && u.effect(z).equal(d) {
			return a.use(u)
		}
	}
	for _, u := range candidates {
		if u.message == nil {
			return a.use(u)
		}
	}
	return nobody
}

func (a *authors) use(u *zoneUpdate) string {
	u.used = true
	a.latest = max(a.latest, u.arrived)
	return u.author
}

// candidates returns the updates that are about all of the names and may not have had an effect yet.
func (a *authors) candidates(names map[string]bool, at time.Duration) []*zoneUpdate {
	var about string
	for name := range names {
		if about == "" || len(a.byName[name]) < len(a.byName[about]) {
			about = name
		}
	}
	var out []*zoneUpdate
	for _, u := range a.open(about, at) {
		if containsAll(u.names, names) {
			out = append(out, u)
		}
	}
	return out
}

// open returns the updates about a name that have arrived and may not have had an effect yet. It forgets the others
// that have arrived.
func (a *authors) open(name string, at time.Duration) []*zoneUpdate {
	list := a.byName[name]
	arrived := 0
	for arrived < len(list) && list[arrived].arrived <= at {
		arrived++
	}
	kept := arrived
	for n := arrived - 1; n >= 0; n-- {
		if u := list[n]; !u.used && !(u.done && u.answered < a.latest) {
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

// effect returns what the update changes in z, if its prerequisites hold (RFC 2136, section 3.4.2).
func (u *zoneUpdate) effect(z zoneState) zoneDelta {
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

// updateRecord carries out one record of an update section.
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

// addRecord adds a record as a name server does: all records of a set have the same TTL, a CNAME is alone at its name
// apart from what signs it, and a second one replaces the first.
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
