package dnsinspect

import (
	"context"
	"strings"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/publisher"
)

const (
	// maxTargets and maxObjects limit those of a displayed record.
	maxTargets, maxObjects = 50, 20
	// countTTL is the minimum time for which the counts of the zones are cached. Counts that take
	// long are cached for countFactor times their duration, so that counting takes a fiftieth of
	// the time. maxCountTTL caps that, because counting may have waited for a publisher that plans.
	countTTL, countFactor, maxCountTTL = time.Second, 50, 20 * time.Second
)

// Records implements [inspect.RecordsOf].
func (r *Role) Records(ctx context.Context, f inspect.RecordFilter) (inspect.RecordList, error) {
	if err := r.mustLead(); err != nil {
		return inspect.RecordList{}, err
	}
	var list inspect.RecordList
	for _, p := range r.publishers {
		if f.Publisher != "" && f.Publisher != p.Name {
			continue
		}
		page, err := p.Rows(ctx, rowFilter(f), max(0, f.Offset-list.Total), f.Limit-len(list.Records))
		if err != nil {
			return inspect.RecordList{}, r.asError(err)
		}
		list.Total += page.Total
		for _, row := range page.Rows {
			list.Records = append(list.Records, recordOf(p.Name, row))
		}
	}
	if next := f.Offset + f.Limit; next < list.Total {
		list.Next = next
	}
	return list, nil
}

func rowFilter(f inspect.RecordFilter) publisher.RowFilter {
	rows := publisher.RowFilter{Zone: dns.Canonical(f.Zone), Search: f.Search}
	for _, s := range f.States {
		rows.States = append(rows.States, publisher.RowState(s))
	}
	if o := f.Object; o != nil {
		rows.Object = &dns.Object{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
	}
	return rows
}

func recordOf(publisher string, row publisher.Row) inspect.Record {
	record := inspect.Record{
		ID: recordID(publisher, row.RowKey), Publisher: publisher, Zone: row.Zone, ZoneID: row.ZoneID,
		Name: row.Name, Type: row.Type, SetIdentifier: row.SetIdentifier, State: inspect.RecordState(row.State),
		TTL: row.TTL, Owner: row.Owner, Message: row.Message,
	}
	record.Wanted, record.Targets = row.Wanted, row.Targets
	if len(row.Wanted) > maxTargets || len(row.Targets) > maxTargets {
		record.Truncated = true
		record.Wanted, record.Targets = row.Wanted[:min(len(row.Wanted), maxTargets)], row.Targets[:min(len(row.Targets), maxTargets)]
	}
	record.Objects = objectRefs(row.Objects)
	for _, l := range row.Losers[:min(len(row.Losers), maxLosers)] {
		record.Losers = append(record.Losers, inspect.RecordLoser{
			Objects: objectRefs(l.Objects), Wanted: l.Targets[:min(len(l.Targets), maxTargets)], Message: l.Message,
		})
	}
	if !row.Next.IsZero() {
		record.Next = &row.Next
	}
	return record
}

// maxLosers limits the listed objects that lose a record.
const maxLosers = 16

func objectRefs(objects []dns.Object) (refs []inspect.ObjectRef) {
	for _, o := range objects[:min(len(objects), maxObjects)] {
		refs = append(refs, objectRef(o))
	}
	return refs
}

// recordID identifies a record in the process. Only the set identifier, which comes last, may
// contain a space.
func recordID(publisher string, k publisher.RowKey) string {
	return strings.Join([]string{publisher, k.Zone, k.ZoneID, k.Name, k.Type, k.SetIdentifier}, " ")
}

// Zones implements [inspect.ZonesOf]. Unzoned names are counted under a zone without a name.
func (r *Role) Zones(ctx context.Context) ([]inspect.Zone, error) {
	if err := r.mustLead(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counted != nil && time.Since(r.countedAt) < max(countTTL, min(countFactor*r.countDuration, maxCountTTL)) {
		return r.counted, nil
	}
	begun := time.Now()
	zones := []inspect.Zone{}
	for _, p := range r.publishers {
		rows, unzoned, err := p.ZoneRows(ctx)
		if err != nil {
			return nil, r.asError(err)
		}
		if len(unzoned) > 0 {
			zones = append(zones, inspect.Zone{Publisher: p.Name, Records: countsOf(unzoned), Problem: "these names are in no zone of the provider"})
		}
		for _, row := range rows {
			zones = append(zones, zoneOf(p.Name, row))
		}
	}
	r.counted, r.countedAt, r.countDuration = zones, time.Now(), time.Since(begun)
	return zones, nil
}

func zoneOf(publisher string, row publisher.ZoneRow) inspect.Zone {
	zone := inspect.Zone{Publisher: publisher, Name: row.Name, ID: row.ID, Records: countsOf(row.Rows), Problem: row.Problem, Held: row.Held}
	if !row.Read.IsZero() {
		zone.Read = &row.Read
	}
	return zone
}

func countsOf(rows map[publisher.RowState]int) map[inspect.RecordState]int {
	counts := make(map[inspect.RecordState]int, len(rows))
	for state, n := range rows {
		counts[inspect.RecordState(state)] = n
	}
	return counts
}
