package libdns

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	lib "github.com/libdns/libdns"
	"golang.org/x/sync/semaphore"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
)

const (
	// batchSize limits the changes of one call of Apply, and batchTime its time. Modules send at least
	// one request per record, one after the other.
	batchSize = 60
	batchTime = 5 * time.Minute
)

var (
	_ provider.Provider       = (*adapter)(nil)
	_ provider.Adjuster       = (*adapter)(nil)
	_ provider.DomainFilterer = (*adapter)(nil)
)

// adapter is a [provider.Provider] of a module.
type adapter struct {
	batch.KnownZones[dns.Zone]
	module module.Module
	caller *caller
	log    *slog.Logger
	dryRun bool
	// given are the configured zones; nil means those that the module lists.
	given  []dns.Zone
	filter provider.ZoneFilter
	budget *listlimit.Budget
	names  provider.ZoneNames
	// slot limits the calls to one at a time. libdns requires modules to be safe for more, but few
	// prove it.
	slot *semaphore.Weighted

	mu      sync.Mutex
	learned learned
	// swaps are the refused type changes.
	swaps         provider.Swaps
	failureCounts failureCounts
	// listAfter has, by zone ID, the time before which a zone isn't listed, because the outcome of a
	// write is unknown.
	listAfter map[string]time.Time
}

func newAdapter(in provider.Input, m module.Module, c *caller, zones []dns.Zone) *adapter {
	if m.TTL == nil {
		m.TTL = module.AtLeast(1)
	}
	a := &adapter{
		KnownZones: batch.KnownZones[dns.Zone]{Budget: in.Budget, Same: batch.SamePlain},
		module:     m, caller: c, log: in.Log, dryRun: in.DryRun, given: zones,
		budget: in.Budget, filter: in.ZoneFilter(""),
		slot: semaphore.NewWeighted(1), learned: learned{}, failureCounts: failureCounts{}, listAfter: map[string]time.Time{},
	}
	a.List = a.list
	return a
}

// Capabilities implements [provider.Provider].
func (a *adapter) Capabilities() provider.Capabilities {
	return provider.Capabilities{Stepwise: true, ByTarget: true, Types: a.module.Types, BatchSize: batchSize, BatchTime: batchTime, Calls: 1, ListingTime: provider.MeteredListingTime}
}

func (a *adapter) list(ctx context.Context) (all []batch.Found[dns.Zone], unlisted, err error) {
	zones, err := a.allZones(ctx)
	if err != nil {
		return nil, nil, err
	}
	return batch.Plain(zones, a.filter.Admits), nil, nil
}

// allZones returns the configured zones, or those that the module lists.
func (a *adapter) allZones(ctx context.Context) ([]dns.Zone, error) {
	lister, ok := a.caller.client.(zoneLister)
	if a.given != nil || !ok {
		return a.given, nil
	}
	if err := a.slot.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer a.slot.Release(1)
	var listed []lib.Zone
	counted := a.budget.Zones("the libdns module " + a.module.Name)
	defer counted.End(nil)
	err := a.caller.list(ctx, a.budget, "list the zones with the libdns module "+a.module.Name, func(ctx context.Context) (err error) {
		listed, err = lister.ListZones(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	zones := make([]dns.Zone, len(listed))
	for i, z := range listed {
		name := dns.Canonical(z.Name)
		zones[i] = dns.Zone{ID: name, Name: name}
		if err := counted.Add(1, listlimit.ZoneSize+2*len(name)); err != nil {
			return nil, err
		}
	}
	return provider.Usable(&a.names, a.log, zones, func(z dns.Zone) dns.Zone { return z }), nil
}

// Records implements [provider.Provider].
func (a *adapter) Records(ctx context.Context, zone dns.Zone) ([]*dns.RecordSet, error) {
	if err := a.slot.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer a.slot.Release(1)
	current, err := a.read(ctx, zone)
	if err != nil {
		return nil, err
	}
	return current.sets, nil
}

// Adjust implements [provider.Adjuster].
func (a *adapter) Adjust(_ context.Context, zone dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	return provider.AdjustEach(wanted, func(r *dns.RecordSet) (*dns.RecordSet, error) {
		n := normal(r)
		n.Properties, n.SetIdentifier = nil, ""
		n.TTL = a.ttl(zone, n.TTL)
		return n, a.refused(zone, n)
	}), nil
}

// ttl returns the listed TTL for a wanted one: that of the module, or one learned from the zone.
func (a *adapter) ttl(zone dns.Zone, wanted int64) int64 {
	sent := a.module.TTL(cmp.Or(wanted, defaultTTL))
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.learned.ttl(zone.ID, sent)
}

// learn notes that a zone lists another TTL than was sent.
func (a *adapter) learn(zone dns.Zone, sent, listed int64) {
	a.mu.Lock()
	isNew := a.learned.note(zone.ID, sent, listed)
	a.mu.Unlock()
	if isNew {
		a.log.Warn(fmt.Sprintf("The libdns module %s stores another TTL than it is asked for", a.module.Name), "zone", zone.Name, "asked", sent, "stored", listed)
	}
}

// learned has the listed TTL by zone and sent TTL.
type learned map[string]map[int64]int64

// maxLearned limits the learned TTLs of a zone.
const maxLearned = 1000

func (l learned) ttl(zone string, sent int64) int64 {
	if listed, ok := l[zone][sent]; ok {
		return listed
	}
	return sent
}

// note reports whether the TTL is new.
func (l learned) note(zone string, sent, listed int64) bool {
	if sent == listed || l.ttl(zone, sent) == listed || len(l[zone]) >= maxLearned {
		return false
	}
	if l[zone] == nil {
		l[zone] = map[int64]int64{}
	}
	l[zone][sent] = listed
	return true
}
