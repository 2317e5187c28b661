package azure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

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
	known map[key]*entry
	// doubts are the keys of which it isn't known what they have: because an answer was lost, or
	// because somebody else has changed it.
	doubts map[key]struct{}
	// unhandled are the keys of the last listing whose types aren't handled. They may be in the way of a CNAME.
	unhandled map[key]struct{}
	// swaps are the type changes that were refused.
	swaps provider.Swaps
}

// lag is how long after a change a listing may still show what was there before.
const lag = 10 * time.Second

// entry is what a key has.
type entry struct {
	// set is nil if there is nothing.
	set *stored
	// at is when it was written; zero is for what was listed. Before has the ETags of what was
	// replaced since the listing; an empty one is for nothing.
	at     time.Time
	before []string
}

// tag returns the ETag of a record set, or "" if there is none.
func tag(s *stored) string {
	if s == nil {
		return ""
	}
	return s.etag
}

// take returns what Records returns for a listing that began at a time. Where the listing shows
// what was replaced since, or right before, it is corrected. If it shows anything else, somebody
// else has made that, and it stays.
func (z *azureZone) take(sets []*stored, begun time.Time) []*dns.RecordSet {
	known, unhandled := make(map[key]*entry, len(sets)), map[key]struct{}{}
	for _, s := range sets {
		switch {
		case z.listed(s) == nil:
			unhandled[s.key] = struct{}{}
		case known[s.key] == nil:
			known[s.key] = &entry{set: s}
		}
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	for k, e := range z.known {
		var shown *stored
		if now := known[k]; now != nil {
			shown = now.set
		}
		late := begun.Sub(e.at) <= lag && (tag(shown) == tag(e.set) || slices.Contains(e.before, tag(shown)))
		if !e.at.IsZero() && (late || !e.at.Before(begun)) {
			known[k] = e
		}
	}
	z.known, z.unhandled = known, unhandled
	list := make([]*dns.RecordSet, 0, len(known))
	for _, e := range known {
		if e.set != nil {
			list = append(list, z.listed(e.set))
		}
	}
	return list
}

// doubt notes that it isn't known what a key has.
func (z *azureZone) doubt(k key) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.doubts[k] = struct{}{}
}

// settle reads the record sets that are in doubt. The listing may be older than our write: a new ownership record could
// be missing, and a deleted one still listed.
func (z *azureZone) settle(ctx context.Context) error {
	z.mu.Lock()
	doubts := maps.Clone(z.doubts)
	z.mu.Unlock()
	for k := range doubts {
		now, err := z.account.get(ctx, z.name, k)
		if err != nil {
			return err
		}
		z.note(k, z.last(k), now)
	}
	return nil
}

// note notes what a key has now, and what it had before; nil is for nothing.
func (z *azureZone) note(k key, before, now *stored) {
	z.mu.Lock()
	defer z.mu.Unlock()
	delete(z.doubts, k)
	if now != nil && now.etag == "" {
		// The answer didn't say.
		delete(z.known, k)
		return
	}
	e := &entry{set: now, at: time.Now(), before: []string{tag(before)}}
	if old := z.known[k]; old != nil && e.at.Sub(old.at) <= lag {
		e.before = append(e.before, old.before...)
	}
	z.known[k] = e
}

// last returns what was listed or written last, or nil.
func (z *azureZone) last(k key) *stored {
	z.mu.Lock()
	defer z.mu.Unlock()
	if e := z.known[k]; e != nil {
		return e.set
	}
	return nil
}

// typesOf returns the types of the record sets of a name that were listed or written last.
func (z *azureZone) typesOf(name string) (types []string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for _, t := range everyType {
		k := key{name: name, recordType: t}
		_, unhandled := z.unhandled[k]
		if e := z.known[k]; unhandled || e != nil && e.set != nil {
			types = append(types, t)
		}
	}
	return types
}

// doubted reports whether it isn't known what a key has.
func (z *azureZone) doubted(k key) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	_, doubted := z.doubts[k]
	return doubted
}

// current returns what Azure has in the place of old, which was listed, or announced by Adjust. If
// that isn't known, it asks.
func (z *azureZone) current(ctx context.Context, old *dns.RecordSet) (*stored, error) {
	k := z.keyOf(old)
	s := z.last(k)
	if s == nil || z.doubted(k) || !sameListed(old, z.listed(s)) {
		var err error
		if s, err = z.account.get(ctx, z.name, k); err != nil {
			return nil, fmt.Errorf("read %s %s: %w", old.Name, old.Type, err)
		}
	}
	switch {
	case s == nil:
		return nil, fmt.Errorf("%s %s: %w: there is none now", old.Name, old.Type, provider.ErrStale)
	case s.registered:
		return nil, rejected(old, errors.New("a virtual network has registered it: choose another name"))
	case !sameListed(old, z.listed(s)):
		return nil, fmt.Errorf("%s %s: %w: there is %q now", old.Name, old.Type, provider.ErrStale, z.listed(s).Targets)
	}
	return s, nil
}
