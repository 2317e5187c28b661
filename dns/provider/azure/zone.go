package azure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// azureZone is a managed zone. Its value stays the same as long as Azure lists it.
type azureZone struct {
	mapping
	account *account
	// name is the name at Azure.
	name string

	mu sync.Mutex
	// known has what was listed or written last, and recent the writes that a listing may not show yet.
	known  map[key]*stored
	recent batch.Recent[key, stored]
	// uncertain are the keys with unknown content, after a lost response or an external change.
	uncertain map[key]struct{}
	// unhandled are the listed keys of unsupported types. They may block a CNAME.
	unhandled map[key]struct{}
	// swaps are the refused type changes.
	swaps provider.Swaps
}

// take returns the record sets for a listing that began at a time, corrected by the recent writes.
func (z *azureZone) take(sets []*stored, begun time.Time) []*dns.RecordSet {
	known, unhandled := make(map[key]*stored, len(sets)), map[key]struct{}{}
	for _, s := range sets {
		switch {
		case z.listed(s) == nil:
			unhandled[s.key] = struct{}{}
		case known[s.key] == nil:
			known[s.key] = s
		}
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	z.recent.Expire(begun)
	for k := range z.recent {
		if now := z.recent.Current(k, known[k], sameETag); now != nil {
			known[k] = now
		} else {
			delete(known, k)
		}
	}
	z.known, z.unhandled = known, unhandled
	list := make([]*dns.RecordSet, 0, len(known))
	for _, s := range known {
		list = append(list, z.listed(s))
	}
	return list
}

// markUncertain notes that the content of a key is unknown.
func (z *azureZone) markUncertain(k key) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.uncertain[k] = struct{}{}
}

// refreshUncertain reads the uncertain record sets. The listing may be older than our write: a new ownership
// record could be missing, and a deleted one still listed.
func (z *azureZone) refreshUncertain(ctx context.Context) error {
	z.mu.Lock()
	uncertain := maps.Clone(z.uncertain)
	z.mu.Unlock()
	for k := range uncertain {
		now, err := z.account.get(ctx, z.name, k)
		if err != nil {
			return err
		}
		z.note(k, z.last(k), now)
	}
	return nil
}

// note records the content of a key, and the content before; nil means none.
func (z *azureZone) note(k key, before, now *stored) {
	z.mu.Lock()
	defer z.mu.Unlock()
	delete(z.uncertain, k)
	if now != nil && now.etag == "" {
		// The response had no ETag.
		delete(z.known, k)
		delete(z.recent, k)
		return
	}
	if z.known[k] = now; now == nil {
		delete(z.known, k)
	}
	at := time.Now()
	z.recent.Expire(at)
	z.recent.Note(k, before, now, at)
}

// last returns the record set that was listed or written last, or nil.
func (z *azureZone) last(k key) *stored {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.known[k]
}

// typesOf returns the types of a name's record sets that were listed or written last.
func (z *azureZone) typesOf(name string) (types []string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for _, t := range allTypes {
		k := key{name: name, recordType: t}
		_, unhandled := z.unhandled[k]
		if unhandled || z.known[k] != nil {
			types = append(types, t)
		}
	}
	return types
}

// isUncertain reports whether the content of a key is unknown.
func (z *azureZone) isUncertain(k key) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	_, ok := z.uncertain[k]
	return ok
}

// current returns the record set at Azure for one that was listed, or announced by Adjust. If it isn't known,
// current reads it.
func (z *azureZone) current(ctx context.Context, old *dns.RecordSet) (*stored, error) {
	k := z.keyOf(old)
	s := z.last(k)
	if s == nil || z.isUncertain(k) || !sameListed(old, z.listed(s)) {
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
