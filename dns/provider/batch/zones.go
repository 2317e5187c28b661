package batch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider"
)

// Found is a listed zone. Its version is that of the listing.
type Found[Z any] struct {
	dns.Zone
	// Of is what the provider keeps of the zone.
	Of *Z
	// Managed is true for a zone to publish to.
	Managed bool
}

// List is one listing of zones. It never changes. Its methods may be called on nil, which has no zones.
type List[Z any] struct {
	// All are the listed zones, managed and unmanaged. A name in an unmanaged zone isn't in a managed
	// one above.
	All []Found[Z]
	// Managed are the managed zones, by name.
	Managed []dns.Zone
	// Unlisted is why zones may be missing, or nil.
	Unlisted error

	byID  map[string]*Z
	names *managedNames
}

// managedNames selects the names of managed zones. Publishers compare it with an earlier one at any
// time, so it has nothing of what providers keep of zones, which changes.
type managedNames struct {
	public, private *dns.ZoneFinder
	managed         map[string]bool // by ID
}

// Match implements [dns.Filter]: the public or the private zone of a name has to be managed.
func (m *managedNames) Match(name string) bool {
	isManaged := func(z dns.Zone) bool { return m.managed[z.ID] }
	return slices.ContainsFunc(m.public.FindAll(name), isManaged) || slices.ContainsFunc(m.private.FindAll(name), isManaged)
}

func newList[Z any](before *List[Z], all []Found[Z], unlisted error, same func(a, b *Z) bool) *List[Z] {
	l := &List[Z]{All: all, Unlisted: unlisted, byID: map[string]*Z{}}
	var public, private []dns.Zone
	managed := map[string]bool{}
	for _, f := range all {
		if f.Private {
			private = append(private, f.Zone)
		} else {
			public = append(public, f.Zone)
		}
		if !f.Managed || l.byID[f.ID] != nil {
			continue
		}
		l.byID[f.ID], l.Managed, managed[f.ID] = f.Of, append(l.Managed, f.Zone), true
		if old := before.Get(f.ID); old != nil && same(old, f.Of) {
			l.byID[f.ID] = old
		}
	}
	slices.SortStableFunc(l.Managed, func(a, b dns.Zone) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), visibility(a)-visibility(b), cmp.Compare(a.ID, b.ID))
	})
	l.names = &managedNames{dns.NewZoneFinder(public), dns.NewZoneFinder(private), managed}
	return l
}

// visibility sorts public zones before private ones.
func visibility(z dns.Zone) int {
	if z.Private {
		return 1
	}
	return 0
}

// Get returns what is kept of the managed zone with an ID, or nil.
func (l *List[Z]) Get(id string) *Z {
	if l == nil {
		return nil
	}
	return l.byID[id]
}

// Filter returns a filter that selects a name if its public or private zone is managed. It never changes.
func (l *List[Z]) Filter() dns.Filter {
	if l == nil {
		return &managedNames{dns.NewZoneFinder(nil), dns.NewZoneFinder(nil), nil}
	}
	return l.names
}

// Outside returns why a name can't be in a zone, or nil. A name belongs to the closest public zone. A private
// zone has its own clients, so it may have every name below its own.
func (l *List[Z]) Outside(zone dns.Zone, name string) error {
	finder := l.names.public
	if zone.Private {
		finder = dns.NewZoneFinder([]dns.Zone{zone})
	}
	return outside(finder, zone, name)
}

// OutsideClosest is Outside, except that a name also belongs to the closest of several private zones.
func (l *List[Z]) OutsideClosest(zone dns.Zone, name string) error {
	if zone.Private {
		return outside(l.names.private, zone, name)
	}
	return outside(l.names.public, zone, name)
}

func outside(finder *dns.ZoneFinder, zone dns.Zone, name string) error {
	if slices.ContainsFunc(finder.FindAll(name), func(z dns.Zone) bool { return z.ID == zone.ID }) {
		return nil
	}
	return fmt.Errorf("%w: %s is not in the zone %s, or is in a zone below it", provider.ErrRejected, name, zone.Name)
}

// KnownZones lists the zones of a provider, and keeps the last list. A provider that embeds it has
// the methods Zones, DomainFilter and Unlisted. Z is what the provider keeps of a managed zone.
type KnownZones[Z any] struct {
	// Service is the name of the service in errors.
	Service string
	// Budget forgets the zones that aren't listed any more.
	Budget *listlimit.Budget
	// MaxAge is how long Zones returns the last list. If it is zero, each call lists the zones.
	MaxAge time.Duration
	// List lists the zones. unlisted is why zones may be missing, or nil.
	List func(ctx context.Context) (all []Found[Z], unlisted, err error)
	// Same reports whether two values are of the same zone. The former value then stays.
	Same func(a, b *Z) bool

	mu       sync.Mutex
	last     *List[Z]
	at       time.Time
	outdated bool
}

// Last returns the last list, or nil.
func (z *KnownZones[Z]) Last() *List[Z] {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.last
}

// Zones implements [provider.Provider].
func (z *KnownZones[Z]) Zones(ctx context.Context) ([]dns.Zone, error) {
	z.mu.Lock()
	list, fresh := z.last, !z.outdated && time.Since(z.at) < z.MaxAge
	z.mu.Unlock()
	if !fresh || list == nil || list.Unlisted != nil {
		var err error
		if list, err = z.relist(ctx); err != nil {
			return nil, err
		}
	}
	return list.Managed, nil
}

func (z *KnownZones[Z]) relist(ctx context.Context) (*List[Z], error) {
	all, unlisted, err := z.List(ctx)
	if err != nil {
		return nil, err
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	z.last, z.at, z.outdated = newList(z.last, all, unlisted, z.Same), time.Now(), false
	z.Budget.Retain(z.last.Managed)
	return z.last, nil
}

// Known returns the last list. If there is none or it is outdated, Known lists the zones.
func (z *KnownZones[Z]) Known(ctx context.Context) (*List[Z], error) {
	z.mu.Lock()
	last, outdated := z.last, z.outdated
	z.mu.Unlock()
	if last != nil && !outdated {
		return last, nil
	}
	return z.relist(ctx)
}

// Find returns the Known list, and what is kept of one of its managed zones.
func (z *KnownZones[Z]) Find(ctx context.Context, zone dns.Zone) (*List[Z], *Z, error) {
	l, err := z.Known(ctx)
	if err != nil {
		return nil, nil, err
	}
	if of := l.Get(zone.ID); of != nil {
		return l, of, nil
	}
	return nil, nil, fmt.Errorf("%w: there is no managed zone %s with the ID %s in %s", provider.ErrRejected, zone.Name, zone.ID, z.Service)
}

// DomainFilter implements [provider.DomainFilterer]. The filter selects no name before the first
// listing, and none in an unmanaged zone, because a managed zone above it can't hold that name.
func (z *KnownZones[Z]) DomainFilter(context.Context) dns.Filter { return z.Last().Filter() }

// Unlisted implements [provider.PartialLister].
func (z *KnownZones[Z]) Unlisted() error {
	if last := z.Last(); last != nil {
		return last.Unlisted
	}
	return nil
}

// Outdate makes Known list the zones, because a zone has changed or is gone.
func (z *KnownZones[Z]) Outdate() {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.outdated = true
}

// Plain returns listed zones of which a provider keeps nothing. It is for [KnownZones.List].
func Plain(all []dns.Zone, admits func(dns.Zone) bool) []Found[dns.Zone] {
	found := make([]Found[dns.Zone], len(all))
	for i, zone := range all {
		found[i] = Found[dns.Zone]{Zone: zone, Of: &all[i], Managed: admits(zone)}
	}
	return found
}

// SamePlain is [KnownZones.Same] for the result of [Plain].
func SamePlain(_, _ *dns.Zone) bool { return true }
