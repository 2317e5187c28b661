package libdns

import (
	"context"
	"fmt"
	"slices"
	"time"

	lib "github.com/libdns/libdns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/internal/pause"
)

// content is the content of a zone, as the module has listed it.
type content struct {
	sets []*dns.RecordSet
	// by has the record sets by key, and raw the module's records, with which they are deleted.
	by  map[dns.Key]*dns.RecordSet
	raw map[dns.Key][]lib.Record
	// types are the record types by name, including unsupported ones.
	types map[string][]string
}

// delayListing delays the next listing of a zone, because an outdated listing would show that
// nothing was written.
func (a *adapter) delayListing(zone dns.Zone) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.listAfter[zone.ID] = time.Now().Add(unknownPause)
}

// wait waits until a zone may be listed.
func (a *adapter) wait(ctx context.Context, zone dns.Zone) error {
	a.mu.Lock()
	until, delayed := a.listAfter[zone.ID]
	delete(a.listAfter, zone.ID)
	a.mu.Unlock()
	if delayed && pause.For(ctx, time.Until(until)) != nil {
		a.delayListing(zone)
		return ctx.Err()
	}
	return nil
}

func (a *adapter) read(ctx context.Context, zone dns.Zone) (current *content, err error) {
	if err := a.wait(ctx, zone); err != nil {
		return nil, err
	}
	counted := a.budget.Zone(zone)
	defer func() { counted.End(err) }()
	var list []lib.Record
	err = a.caller.list(ctx, a.budget, fmt.Sprintf("read zone %s with the libdns module %s", zone.Name, a.module.Name), func(ctx context.Context) (err error) {
		list, err = a.caller.client.GetRecords(ctx, zone.Name+".")
		return err
	})
	if err != nil {
		return nil, err
	}
	current = &content{by: map[dns.Key]*dns.RecordSet{}, raw: map[dns.Key][]lib.Record{}, types: map[string][]string{}}
	for _, record := range list {
		if record == nil {
			continue
		}
		if err := current.add(a, zone, record, counted); err != nil {
			return nil, err
		}
	}
	for key, r := range current.by {
		r = normal(r)
		current.by[key] = r
		current.sets = append(current.sets, r)
	}
	return current, nil
}

// add adds a record to its record set. Of several TTLs the lowest one counts, because resolvers use
// it.
func (n *content) add(a *adapter, zone dns.Zone, record lib.Record, counted *listlimit.Listing) error {
	rr := record.RR()
	name := absolute(rr.Name, zone.Name)
	if !slices.Contains(n.types[name], rr.Type) {
		n.types[name] = append(n.types[name], rr.Type)
	}
	if err := counted.Add(0, rawSize+len(rr.Data)); err != nil {
		return fmt.Errorf("read zone %s with the libdns module %s: %w", zone.Name, a.module.Name, err)
	}
	if !slices.Contains(a.module.Types, rr.Type) {
		return nil
	}
	key := dns.Key{Name: name, Type: rr.Type}
	ttl := int64(rr.TTL / time.Second)
	r := n.by[key]
	if r == nil {
		r = &dns.RecordSet{Name: name, Type: rr.Type, TTL: ttl}
		n.by[key] = r
		if err := counted.Add(1, listlimit.EmptySetSize(name)); err != nil {
			return fmt.Errorf("read zone %s with the libdns module %s: %w", zone.Name, a.module.Name, err)
		}
	}
	r.TTL = min(r.TTL, ttl)
	r.Targets = append(r.Targets, a.target(rr))
	n.raw[key] = append(n.raw[key], record)
	return nil
}

// rawSize is the memory of a module's record in bytes without its text.
const rawSize = 160

// has reports whether a record set has the wanted values, regardless of its TTL; nil means none.
func (n *content) has(key dns.Key, wanted *dns.RecordSet) bool {
	existing := n.by[key]
	if existing == nil || wanted == nil {
		return existing == nil && wanted == nil
	}
	return existing.SameTargets(normal(wanted))
}
