package claims

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/provider"
)

// Options configures an [Owner].
type Options struct {
	Store Store
	// ID is the owner ID. Record sets of OldID, which may be empty, may become ours.
	ID, OldID string
	// ByTarget is true if the provider writes by target ([provider.Capabilities]).
	ByTarget bool
	// TXT reads the ownership records of --registry=txt, whose record sets are taken over. It must
	// have the same owner. Nil takes over nothing. RemoveTXT deletes these ownership records.
	TXT       *owner.TXT
	RemoveTXT bool
	// Problems is called by Before with the reasons why record sets aren't changed. It must not block.
	// It may be nil.
	Problems func(dns.Problem)
	Log      *slog.Logger
}

// Owner is an [owner.Owner] that keeps ownership in claims outside of the zones.
type Owner struct {
	Options

	// calls is a lock for calls of the store. It guards the fields up to mu.
	calls *semaphore.Weighted
	// before has, for each change that is being applied, the claim from before.
	before map[dns.Key]*Claim
	zones  zones
	// zonesChange is the highest [owner.Listing].Change.
	zonesChange int
	// unsure is true after a write with an unknown outcome.
	unsure bool
	// outdated is true if another process may have written since the last read. Any goroutine may set it.
	outdated atomic.Bool

	// mu guards the fields below. Only the holder of calls writes them.
	mu      sync.RWMutex
	entries map[dns.Key]entry
	// changed are the names for which the result of Labels may have changed.
	changed map[string]struct{}
}

// entry is a claim, and its last known state in the store. A claim to be removed from the store is
// nil.
type entry struct {
	claim, stored *Claim
	// unwritten is true if the store couldn't be written.
	unwritten bool
}

var (
	_ owner.Owner   = (*Owner)(nil)
	_ owner.Outside = (*Owner)(nil)
)

// New returns an owner without claims. Load reads them.
func New(o Options) *Owner {
	if o.Problems == nil {
		o.Problems = func(dns.Problem) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	made := &Owner{Options: o, calls: semaphore.NewWeighted(1), before: map[dns.Key]*Claim{}, entries: map[dns.Key]entry{}, changed: map[string]struct{}{}}
	made.zones = newZones(func(key dns.Key) bool { c := made.entries[key].claim; return c != nil && c.State == Confirmed })
	return made
}

// ID implements [owner.Owner].
func (o *Owner) ID() string { return o.Options.ID }

// begin waits for the lock of the store. After an error the lock isn't held.
func (o *Owner) begin(ctx context.Context) error {
	if err := o.calls.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("wait for the calls about other zones: %w", err)
	}
	return nil
}

func (o *Owner) end() { o.calls.Release(1) }

// Load implements [owner.Owner]. After an error the owner keeps the former claims.
func (o *Owner) Load(ctx context.Context) error {
	if err := o.begin(ctx); err != nil {
		return err
	}
	defer o.end()
	return o.load(ctx)
}

func (o *Owner) load(ctx context.Context) error {
	how := MayReuse
	if o.outdated.Swap(false) {
		how = ReadAgain
	}
	read, fresh, err := o.Store.Read(ctx, how)
	if err != nil && how == ReadAgain {
		o.outdated.Store(true)
	}
	if err != nil || !fresh {
		return err
	}
	o.unsure = false
	for key, e := range o.entries {
		// A difference comes from another process, or from a write of ours without a response.
		if there := read[key]; there == nil || !there.same(e.stored) {
			o.put(key, entry{claim: there.remembering(e.claim), stored: there})
		}
	}
	for key, there := range read {
		if _, known := o.entries[key]; !known {
			o.put(key, entry{claim: there, stored: there})
		}
	}
	return nil
}

// Outdate implements [owner.Outside].
func (o *Owner) Outdate() { o.outdated.Store(true) }

// Changed implements [owner.Outside].
func (o *Owner) Changed() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	names := slices.Sorted(maps.Keys(o.changed))
	clear(o.changed)
	return names
}

// OwnershipRecord implements [owner.Owner]. Ownership records exist only while TXT records are
// taken over.
func (o *Owner) OwnershipRecord(r *dns.RecordSet) (describes []string, ownership bool) {
	if o.TXT == nil {
		return nil, false
	}
	return o.TXT.OwnershipRecord(r)
}

// Labels implements [owner.Owner]. The labels are those of the claim, else those of an ownership
// record. rewrite is true for our record sets that have to be taken over. The map must not be
// changed.
func (o *Owner) Labels(zone owner.Lookup, r *dns.RecordSet) (labels map[string]string, rewrite bool) {
	if c := o.claim(r.Key()); o.owns(c, r) {
		return c.Labels, false
	}
	if o.TXT == nil {
		return nil, false
	}
	labels, _ = o.TXT.Labels(zone, r)
	return labels, labels[dns.LabelOwner] == o.ID()
}

// owns reports whether a listed record set is that of a claim.
func (o *Owner) owns(c *Claim, r *dns.RecordSet) bool {
	if o.ByTarget {
		return c.OwnsPart(r)
	}
	return c.Owns(r)
}

// claim returns the claim of a record set, or nil.
func (o *Owner) claim(key dns.Key) *Claim {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.entries[key].claim
}

// put replaces a claim. The caller holds calls.
func (o *Owner) put(key dns.Key, e entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	was, known := o.entries[key]
	if !was.claim.sameDecision(e.claim) {
		o.changed[key.Name] = struct{}{}
	}
	switch {
	case e.stored == nil && (e.claim == nil || e.claim.State == Refuted):
		delete(o.entries, key)
		return
	case !known:
		o.zones.add(key)
	}
	o.entries[key] = e
}

// write writes claims and keeps them, including those that the store didn't take: these are written
// again after the next listing. It returns the error of each.
func (o *Owner) write(ctx context.Context, next []*Claim, keys []dns.Key) []error {
	errs := make([]error, len(keys))
	var writes []Write
	var places []int
	for i, key := range keys {
		was := o.entries[key].stored
		if was == nil && next[i] == nil {
			o.put(key, entry{})
			continue
		}
		writes, places = append(writes, Write{Was: was, Claim: next[i]}), append(places, i)
	}
	if len(writes) == 0 {
		return errs
	}
	for n, r := range o.Store.Write(ctx, writes) {
		i := places[n]
		e := entry{claim: next[i], stored: r.Stored, unwritten: r.Err != nil || r.Later != nil}
		switch {
		case r.Err != nil:
			errs[i], e.stored = r.Err, writes[n].Was
			o.unsure = o.unsure || !provider.IsAny(r.Err, ErrRefused, provider.ErrThrottled)
		case r.Later != nil:
			o.Log.Warn("Can't write the whole claim of a record; retrying after the next listing", "record", keys[i].Name, "type", keys[i].Type, "err", r.Later)
		}
		o.put(keys[i], e)
	}
	return errs
}
