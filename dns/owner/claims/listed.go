package claims

import (
	"context"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
)

// Listed implements [owner.Outside]. It settles the claims of the zone, and writes those that
// couldn't be written before. The zone isn't being changed, so a claim that is still underway has
// an unknown outcome.
func (o *Owner) Listed(ctx context.Context, l owner.Listing) {
	if o.begin(ctx) != nil {
		return
	}
	defer o.end()
	if l.Change < o.zonesChange {
		// The listing is older than the list of zones: it would assign names to zones that no longer hold them.
		// A newer listing follows.
		return
	}
	o.zonesChange = l.Change
	known := func(key dns.Key) bool {
		_, known := o.entries[key]
		return known
	}
	inZone := o.zones.in(l, known, o.moved)
	there := make(map[dns.Key]*dns.RecordSet, len(inZone))
	for _, r := range l.Records {
		if key := r.Key(); o.owns(o.entries[key].claim, r) {
			there[key] = r
		}
	}
	var next []*Claim
	var keys []dns.Key
	for key := range inZone {
		delete(o.before, key)
		e := o.entries[key]
		claim := e.claim
		if claim != nil {
			claim = claim.observe(there[key])
		}
		if claim == nil && o.zones.elsewhere(key) {
			claim = e.claim
		}
		if claim.same(e.claim) && !e.unwritten || o.ofOldOwner(e) {
			e.claim = claim
			o.put(key, e)
		} else {
			next, keys = append(next, claim), append(keys, key)
		}
	}
	o.report(o.write(ctx, next, keys), keys)
}

// ofOldOwner reports whether the store has the claim of the old owner, which only a change of the
// record set makes ours.
func (o *Owner) ofOldOwner(e entry) bool { return e.stored != nil && e.stored.Owner() != o.ID() }

// moved is called when another zone than before holds the name of a claim. A record set in the new zone is ours
// only if it has the targets of the claim, because anybody may have created one with other targets. In a zone
// that held the name before, it is ours as before.
func (o *Owner) moved(key dns.Key, back bool) {
	e := o.entries[key]
	next := e.claim.unconfirm()
	if back {
		next = e.claim.reconfirm()
	}
	if !next.same(e.claim) {
		o.put(key, entry{claim: next, stored: e.stored, unwritten: true})
	}
}
