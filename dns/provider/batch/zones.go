package batch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// Zones keeps the last list of a provider's zones. The zero value has none. L is the provider's type of a
// list, which is immutable.
type Zones[L any] struct {
	mu       sync.Mutex
	last     *L
	at       time.Time
	outdated bool
}

// Last returns the last list, or nil.
func (z *Zones[L]) Last() *L {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.last
}

// Fresh returns the last list if it is younger than a time and not outdated, or nil.
func (z *Zones[L]) Fresh(age time.Duration) *L {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.outdated || time.Since(z.at) >= age {
		return nil
	}
	return z.last
}

// Known returns the last list. If there is none or it is outdated, Known calls list.
func (z *Zones[L]) Known(ctx context.Context, list func(context.Context) (*L, error)) (*L, error) {
	z.mu.Lock()
	last, outdated := z.last, z.outdated
	z.mu.Unlock()
	if last != nil && !outdated {
		return last, nil
	}
	return list(ctx)
}

// Replace replaces the last list by the result of next, so that next can keep the values of unchanged zones.
// before is nil for the first list.
func (z *Zones[L]) Replace(next func(before *L) *L) *L {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.last, z.at, z.outdated = next(z.last), time.Now(), false
	return z.last
}

// Outdate makes Known call list, because a zone has changed or is gone.
func (z *Zones[L]) Outdate() {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.outdated = true
}

// Outside returns why a name can't be in a zone, or nil. public has all public zones of the provider, and a
// name belongs to the closest of them. A private zone has its own clients, so it may have every name below
// its own.
func Outside(public *dns.ZoneFinder, zone dns.Zone, name string) error {
	if zone.Private {
		public = dns.NewZoneFinder([]dns.Zone{zone})
	}
	for _, closest := range public.FindAll(name) {
		if closest.ID == zone.ID {
			return nil
		}
	}
	return fmt.Errorf("%w: %s is not in the zone %s, or is in a zone below it", provider.ErrRejected, name, zone.Name)
}
