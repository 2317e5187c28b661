package publisher

import (
	"context"
	"time"

	"github.com/signpostd/signpost/dns"
)

// ZoneRow is a zone of the provider.
type ZoneRow struct {
	dns.Zone
	// Rows is the number of rows in each state.
	Rows map[RowState]int
	// Read is when the zone was last read; zero means never.
	Read time.Time
	// Problem says why the zone can't be read or written, or why the zones can't be listed.
	Problem string
	// Held is the hash of the changes that wait for approval.
	Held string
}

// ZoneRows returns the zones by name, and the number of unzoned rows in each state. The error is
// that of [Publisher.Rows].
func (p *Publisher) ZoneRows(ctx context.Context) (zones []ZoneRow, unzoned map[RowState]int, err error) {
	counts := map[*zone]map[RowState]int{}
	count := func(at nameInZone) {
		if counts[at.zone] == nil {
			counts[at.zone] = map[RowState]int{}
		}
		p.filterRows(at, RowFilter{}, func(h match) { counts[at.zone][h.state]++ })
	}
	if _, err := p.walk(ctx, count, func() {}); err != nil {
		return nil, nil, err
	}
	err = p.visit(ctx, func() {
		for _, z := range p.zones.sorted() {
			zones = append(zones, z.row(counts[z]))
		}
	})
	return zones, counts[nil], err
}

func (z *zone) row(counts map[RowState]int) ZoneRow {
	row := ZoneRow{Zone: z.Zone, Rows: counts, Read: z.readAt}
	if counts == nil {
		row.Rows = map[RowState]int{}
	}
	row.Problem = z.problem()
	if plan, ok := z.ledger.Current(); ok {
		row.Held = plan.Hash
	}
	return row
}
