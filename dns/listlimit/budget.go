package listlimit

import (
	"sync"

	"github.com/signpostd/signpost/dns"
)

// Budget limits what is read of one provider. A nil Budget has the default limits for each zone,
// and none for all zones together.
type Budget struct {
	limits Limits

	mu sync.Mutex
	// kept has what the last complete listing of each zone has, by zone ID.
	kept map[string]usage
	// used is the sum of kept, and of what listings that are being read have more than that.
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

// Zone begins to list the record sets of a zone. End has to be called on the result.
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

// Part begins to list something that is not kept, such as the records of one name of a zone. It
// has the limits of a zone, and does not count for all zones together.
func (b *Budget) Part(subject string) *Listing {
	return newListing(subject, "record sets", "max-zone-records", mostOf(b.limit().ZoneRecords))
}

// Zones begins to list the zones of a provider.
func (b *Budget) Zones(subject string) *Listing {
	return newListing(subject, "zones", "max-zones", mostOf(b.limit().Zones))
}

// ZoneBytes returns how many bytes of memory the record sets of a zone may have.
func (b *Budget) ZoneBytes() int { return mostOf(b.limit().ZoneRecords).bytes }

// Used returns how many record sets and bytes of memory the zones have together, with those of
// listings that are being read.
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

// grow takes over that a listing has more than before. It reports false if all zones together
// then have too much; the listing has to be ended all the same.
func (b *Budget) grow(by usage) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used = b.used.plus(by)
	return b.used.fits(mostOf(b.limits.Records))
}

// settle ends a listing. Keep is true when it is complete.
func (b *Budget) settle(zone string, now, reserved usage, keep bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used = b.used.minus(reserved)
	if keep {
		b.used = b.used.minus(b.kept[zone]).plus(now)
		b.kept[zone] = now
	}
}
