package listlimit

import (
	"sync"

	"github.com/signpostd/signpost/dns"
)

// Budget limits what is read of one provider. A nil Budget has the default limits per zone, and no
// limit for all zones together.
type Budget struct {
	limits Limits

	mu sync.Mutex
	// kept is the size of the last complete listing of each zone, by zone ID.
	kept map[string]usage
	// used is the sum of kept, plus the excess of running listings over it.
	used usage
}

// New returns a budget.
func New(l Limits) *Budget { return &Budget{limits: l.filled(), kept: map[string]usage{}} }

func (b *Budget) limit() Limits {
	if b == nil {
		return Limits{}.filled()
	}
	return b.limits
}

// Zone starts a listing of the record sets of a zone. The caller must call End on the result.
func (b *Budget) Zone(z dns.Zone) *Listing {
	l := newListing(zoneSubject(z), "record sets", "max-zone-records", mostOf(b.limit().ZoneRecords))
	if b == nil {
		return l
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	l.budget, l.zone, l.before = b, z.ID, b.kept[z.ID]
	return l
}

// Part starts a listing that is not kept, such as the records of one name. It has the limits of a
// zone, and doesn't count for all zones together.
func (b *Budget) Part(subject string) *Listing {
	return newListing(subject, "record sets", "max-zone-records", mostOf(b.limit().ZoneRecords))
}

// Claims starts a listing of a registry outside of the zones. It has the limits of all zones
// together, and doesn't count for them.
func (b *Budget) Claims(subject string) *Listing {
	return newListing(subject, "claims", "max-records", mostOf(b.limit().Records))
}

// Zones starts a listing of the zones of a provider.
func (b *Budget) Zones(subject string) *Listing {
	return newListing(subject, "zones", "max-zones", mostOf(b.limit().Zones))
}

// ZoneBytes returns the memory limit for the record sets of a zone, in bytes.
func (b *Budget) ZoneBytes() int { return mostOf(b.limit().ZoneRecords).bytes }

// Used returns the record sets and bytes of all zones together, including running listings.
func (b *Budget) Used() (records, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used.records, b.used.bytes
}

// Retain forgets the zones that a provider does not list any more.
func (b *Budget) Retain(zones []dns.Zone) {
	if b == nil {
		return
	}
	listed := make(map[string]bool, len(zones))
	for _, z := range zones {
		listed[z.ID] = true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, u := range b.kept {
		if !listed[id] {
			delete(b.kept, id)
			b.used = b.used.minus(u)
		}
	}
}

// grow adds usage of a listing. It returns false if all zones together exceed the limit; the
// listing must still be ended.
func (b *Budget) grow(by usage) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used = b.used.plus(by)
	return b.used.fits(mostOf(b.limits.Records))
}

// settle ends a listing. keep is true if it is complete.
func (b *Budget) settle(zone string, now, reserved usage, keep bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used = b.used.minus(reserved)
	if keep {
		b.used = b.used.minus(b.kept[zone]).plus(now)
		b.kept[zone] = now
	}
}
