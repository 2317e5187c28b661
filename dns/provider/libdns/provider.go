package libdns

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	lib "github.com/libdns/libdns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
)

const (
	// batchSize is the most changes in a call of Apply, and batchTime how long one may take: the
	// modules send a request or more for each record, one after the other.
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
	module module.Module
	caller *caller
	log    *slog.Logger
	dryRun bool
	// given are the zones that the user names; nil is for those that the module lists.
	given     []dns.Zone
	domains   dns.Filter
	zoneIDs   dns.ZoneIDFilter
	zoneNames *dns.DomainFilter
	budget    *listlimit.Budget
	names     provider.ZoneNames
	// turn has room for one call at a time: libdns asks modules for more, but few show it.
	turn  chan struct{}
	zones batch.Zones[batch.Partition]

	mu      sync.Mutex
	learned learned
	// swaps are the type changes that were refused.
	swaps   provider.Swaps
	repeats repeats
	// quiet has, by zone, until when it isn't listed, because it isn't known what was written there.
	quiet map[string]time.Time
}

func newAdapter(in provider.Input, m module.Module, c *caller, zones []dns.Zone) *adapter {
	if m.TTL == nil {
		m.TTL = module.AtLeast(1)
	}
	return &adapter{
		module: m, caller: c, log: in.Log, dryRun: in.DryRun, given: zones,
		budget: in.Budget, domains: in.Domains, zoneIDs: in.ZoneIDs, zoneNames: dns.NewZoneNameFilter(in.ZoneNames),
		turn: make(chan struct{}, 1), learned: learned{}, repeats: repeats{}, quiet: map[string]time.Time{},
	}
}

// Capabilities implements [provider.Provider].
func (a *adapter) Capabilities() provider.Capabilities {
	return provider.Capabilities{Stepwise: true, Types: a.module.Types, BatchSize: batchSize, BatchTime: batchTime, Calls: 1, ListingTime: provider.MeteredListingTime}
}

// take waits for the caller's turn. The function ends it.
func (a *adapter) take(ctx context.Context) (end func(), err error) {
	select {
	case a.turn <- struct{}{}:
		return func() { <-a.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Zones implements [provider.Provider].
func (a *adapter) Zones(ctx context.Context) ([]dns.Zone, error) {
	parts, err := a.divide(ctx)
	if err != nil {
		return nil, err
	}
	a.budget.Retain(parts.Managed)
	return parts.Managed, nil
}

// list returns the zones that the user names, or those that the module lists.
func (a *adapter) list(ctx context.Context) ([]dns.Zone, error) {
	lister, ok := a.caller.client.(zoneLister)
	if a.given != nil || !ok {
		return a.given, nil
	}
	end, err := a.take(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	var listed []lib.Zone
	counted := a.budget.Zones("the libdns module " + a.module.Name)
	defer counted.End(nil)
	err = a.caller.list(ctx, a.budget, "list the zones with the libdns module "+a.module.Name, func(ctx context.Context) (err error) {
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
	end, err := a.take(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	now, err := a.read(ctx, zone)
	if err != nil {
		return nil, err
	}
	return now.sets, nil
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

// ttl returns the TTL that will be listed for one that is wanted: that of the module, or what the
// zone was seen to make of it.
func (a *adapter) ttl(zone dns.Zone, wanted int64) int64 {
	asked := a.module.TTL(cmp.Or(wanted, defaultTTL))
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.learned.ttl(zone.ID, asked)
}

// learn notes that a TTL was asked for, and another one is listed.
func (a *adapter) learn(zone dns.Zone, asked, listed int64) {
	a.mu.Lock()
	isNew := a.learned.note(zone.ID, asked, listed)
	a.mu.Unlock()
	if isNew {
		a.log.Warn(fmt.Sprintf("The libdns module %s stores another TTL than it is asked for", a.module.Name), "zone", zone.Name, "asked", asked, "stored", listed)
	}
}

// learned has, by zone, which TTL is listed for one that was asked for.
type learned map[string]map[int64]int64

// maxLearned is how many TTLs are kept for a zone.
const maxLearned = 1000

func (l learned) ttl(zone string, asked int64) int64 {
	if listed, ok := l[zone][asked]; ok {
		return listed
	}
	return asked
}

// note reports whether this wasn't known.
func (l learned) note(zone string, asked, listed int64) bool {
	if asked == listed || l.ttl(zone, asked) == listed || len(l[zone]) >= maxLearned {
		return false
	}
	if l[zone] == nil {
		l[zone] = map[int64]int64{}
	}
	l[zone][asked] = listed
	return true
}
