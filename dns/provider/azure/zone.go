package azure

import (
	"context"
	"fmt"
	"sync"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// azureZone is a zone that is managed. It stays the same value as long as the group has it.
type azureZone struct {
	mapping
	account *account
	// name is that of the zone as Azure has it.
	name string

	mu sync.Mutex
	// known has what was listed or written last, with its ETag.
	known map[key]entry
	// written counts what was written.
	written int
}

// entry is what a key has.
type entry struct {
	// set is nil if there is nothing.
	set *stored
	// written is the count when it was written; zero is for what was listed.
	written int
}

// changes returns the count of what was written.
func (z *azureZone) changes() int {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.written
}

// take returns what Records returns for a listing that began after some number of changes. What
// is known of later ones stays.
func (z *azureZone) take(sets []*stored, begun int) []*dns.RecordSet {
	z.mu.Lock()
	defer z.mu.Unlock()
	known := make(map[key]entry, len(sets))
	list := make([]*dns.RecordSet, 0, len(sets))
	for _, s := range sets {
		r := z.listed(s)
		if _, twice := known[s.key]; r == nil || twice {
			continue
		}
		known[s.key] = entry{set: s}
		list = append(list, r)
	}
	for k, e := range z.known {
		if e.written > begun {
			known[k] = e
		}
	}
	z.known = known
	return list
}

// note notes what a key has now; nil is for nothing.
func (z *azureZone) note(k key, s *stored) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.written++
	z.known[k] = entry{set: s, written: z.written}
}

// forget drops what is known of a key, because somebody else has changed it.
func (z *azureZone) forget(k key) {
	z.mu.Lock()
	defer z.mu.Unlock()
	delete(z.known, k)
}

// current returns what Azure has in the place of old, which was listed, or announced by Adjust. If
// that isn't known, it asks.
func (z *azureZone) current(ctx context.Context, old *dns.RecordSet) (*stored, error) {
	k := z.keyOf(old)
	z.mu.Lock()
	s := z.known[k].set
	z.mu.Unlock()
	if s == nil || !sameListed(old, z.listed(s)) {
		var err error
		if s, err = z.account.get(ctx, z.name, k); err != nil {
			return nil, fmt.Errorf("read %s %s: %w", old.Name, old.Type, err)
		}
	}
	switch {
	case s == nil:
		return nil, fmt.Errorf("%s %s: %w: there is none now", old.Name, old.Type, provider.ErrStale)
	case s.registered:
		return nil, rejected(old, fmt.Errorf("Azure keeps it for a machine of a virtual network: choose another name"))
	case !sameListed(old, z.listed(s)):
		return nil, fmt.Errorf("%s %s: %w: there is %q now", old.Name, old.Type, provider.ErrStale, z.listed(s).Targets)
	}
	return s, nil
}
